import Synchronization

/// Counters, gauges and histograms of a process, written in the text format that Prometheus reads
/// (version 0.0.4 of its exposition formats).
///
/// Values of labels come from the program, never from a client: each one makes another series.
package final class Metrics: Sendable {
    /// The name and the help text of a metric. The name ends as Prometheus's conventions ask:
    /// `_total` for a counter, the unit for others.
    package struct Metric: Sendable, Hashable {
        package let name: String
        package let help: String

        package init(_ name: String, _ help: String) {
            self.name = name
            self.help = help
        }
    }

    private struct Series: Hashable {
        let metric: Metric
        let labels: [String]
    }

    private struct State {
        var counters: [Series: Int64] = [:]
        var histograms: [Series: Histogram] = [:]
        var gauges: [Series: @Sendable () -> Double] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Adds to a counter.
    ///
    /// - Parameter labels: The labels in order, each as `name="value"` without the quotes of the
    ///   value: `[("method", "Commit")]`.
    package func count(_ metric: Metric, _ labels: KeyValuePairs<String, String> = [:], _ amount: Int64 = 1) {
        let series = Self.series(metric, labels)
        state.withLock { state in
            state.counters[series] = (state.counters[series] ?? 0).saturatingAdded(to: amount)
        }
    }

    /// Adds a duration to a histogram of seconds.
    package func observe(_ metric: Metric, _ labels: KeyValuePairs<String, String> = [:], _ duration: Duration) {
        let series = Self.series(metric, labels)
        state.withLock { $0.histograms[series, default: Histogram()].add(duration) }
    }

    /// Registers a gauge, which is read at each request.
    package func gauge(
        _ metric: Metric, _ labels: KeyValuePairs<String, String> = [:], _ read: @escaping @Sendable () -> Double
    ) {
        let series = Self.series(metric, labels)
        state.withLock { $0.gauges[series] = read }
    }

    /// The media type of `text`.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// All metrics in Prometheus's text format, ordered by name.
    package var text: String {
        let (counters, histograms, gauges) = state.withLock { ($0.counters, $0.histograms, $0.gauges) }
        var families: [Metric: (type: String, lines: [String])] = [:]
        func add(_ type: String, _ series: Series, _ lines: [String]) {
            families[series.metric, default: (type, [])].lines += lines
        }
        for (series, value) in counters {
            add("counter", series, [Self.line(series.metric.name, series.labels, "\(value)")])
        }
        for (series, read) in gauges {
            add("gauge", series, [Self.line(series.metric.name, series.labels, "\(read())")])
        }
        for (series, histogram) in histograms {
            add("histogram", series, histogram.lines(series.metric.name, series.labels))
        }
        var text = ""
        for (metric, family) in families.sorted(by: { $0.key.name < $1.key.name }) {
            text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(family.type)\n"
            // The lines of a histogram keep their order.
            text += (family.type == "histogram" ? family.lines : family.lines.sorted()).map { $0 + "\n" }.joined()
        }
        return text
    }

    private static func series(_ metric: Metric, _ labels: KeyValuePairs<String, String>) -> Series {
        Series(metric: metric, labels: labels.map { "\($0.key)=\"\($0.value)\"" })
    }

    fileprivate static func line(_ name: String, _ labels: [String], _ value: String) -> String {
        "\(name)\(labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") \(value)"
    }
}

/// The number of durations up to each of some bounds.
private struct Histogram {
    /// The bounds in microseconds, from a quarter of a millisecond to ten seconds.
    private static let bounds: [Int64] = [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
    ]

    /// The counts between the bounds, the last of which has no upper one.
    private var counts = [Int64](repeating: 0, count: Histogram.bounds.count + 1)
    private var microseconds: Int64 = 0

    mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let time = seconds.saturatingMultiplied(by: 1_000_000).saturatingAdded(to: attoseconds / 1_000_000_000_000)
        counts[Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count] += 1
        microseconds = microseconds.saturatingAdded(to: max(0, time))
    }

    func lines(_ name: String, _ labels: [String]) -> [String] {
        var total: Int64 = 0
        var lines: [String] = []
        for (bound, count) in zip(Self.bounds.map { "\(Double($0) / 1_000_000)" } + ["+Inf"], counts) {
            total += count
            lines.append(Metrics.line("\(name)_bucket", labels + ["le=\"\(bound)\""], "\(total)"))
        }
        lines.append(Metrics.line("\(name)_sum", labels, "\(Double(microseconds) / 1_000_000)"))
        lines.append(Metrics.line("\(name)_count", labels, "\(total)"))
        return lines
    }
}
