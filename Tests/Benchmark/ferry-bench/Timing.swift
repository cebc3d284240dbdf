import Glibc
import SQLite
import Synchronization
import SystemIO

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
    var inMilliseconds: Double { inSeconds * 1000 }
}

/// The durations of calls.
final class Latencies: Sendable {
    private let values = Mutex<[Duration]>([])

    func add(_ value: Duration) { values.withLock { $0.append(value) } }

    func time<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let start = ContinuousClock.now
        let result = try await body()
        add(ContinuousClock.now - start)
        return result
    }

    /// Returns the milliseconds within which the given share of the calls finished.
    func percentile(_ share: Double) -> Double {
        let sorted = values.withLock { $0.sorted() }
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))].inMilliseconds
    }
}

extension Double {
    /// Returns the number with `places` decimals and separated thousands.
    func text(_ places: Int = 0) -> String {
        guard isFinite else { return "–" }
        var digits = "\(Int(self.rounded(.down)))"
        if places > 0 {
            var scale = 1.0
            for _ in 0..<places { scale *= 10 }
            let scaled = Int((self * scale).rounded())
            let rest = "\(scaled % Int(scale))"
            return "\(scaled / Int(scale)).\(String(repeating: "0", count: places - rest.count))\(rest)"
        }
        var result = ""
        while digits.count > 3 {
            result = ",\(digits.suffix(3))\(result)"
            digits.removeLast(3)
        }
        return digits + result
    }
}

/// Runs `body` repeatedly in `workers` threads, each with a connection of its own, for `duration`,
/// and returns the number of calls per second.
func rate(
    of workers: Int, on server: LoadServer, for duration: Duration,
    _ body: @escaping @Sendable (_ client: WireClient, _ worker: Int, _ round: Int) throws -> Void
) async throws -> Double {
    let start = ContinuousClock.now
    let end = start + duration
    let counts = try await inThreads(workers, on: server) { client, worker in
        var round = 0
        while ContinuousClock.now < end {
            try body(client, worker, round)
            round += 1
        }
        return round
    }
    return Double(counts.reduce(0, +)) / (ContinuousClock.now - start).inSeconds
}

/// Makes `count` calls at their scheduled times, distributed over `workers` threads with a
/// connection each.
///
/// A slow answer does not delay the schedule: the duration of a call that had to wait for the
/// previous one counts from its scheduled time.
func timetable(
    _ count: Int, every pause: Duration, of workers: Int, on server: LoadServer,
    _ body: @escaping @Sendable (_ client: WireClient, _ call: Int) throws -> Void
) async throws -> Latencies {
    let start = ContinuousClock.now + .milliseconds(100)
    let latencies = Latencies()
    _ = try await inThreads(workers, on: server) { client, worker in
        for call in stride(from: worker, to: count, by: workers) {
            let due = start + pause * call
            let left = (due - .now).components
            if left.seconds >= 0, left.attoseconds > 0 {
                var rest = timespec(tv_sec: Int(left.seconds), tv_nsec: Int(left.attoseconds / 1_000_000_000))
                nanosleep(&rest, nil)
            }
            try body(client, call)
            latencies.add(ContinuousClock.now - due)
        }
    }
    return latencies
}

private func inThreads<Result: Sendable>(
    _ workers: Int, on server: LoadServer, _ body: @escaping @Sendable (WireClient, _ worker: Int) throws -> Result
) async throws -> [Result] {
    let address = server.address
    return try await withThrowingTaskGroup { group in
        for worker in 0..<workers {
            group.addTask {
                let thread = SerialThread()
                defer { thread.stop() }
                return try await thread.run { try body(try WireClient(address), worker) }
            }
        }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
