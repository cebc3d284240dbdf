import SystemIO
import Testing

struct MetricsTests {
    private let calls = Metrics.Metric("calls_total", "Calls.")
    private let time = Metrics.Metric("call_seconds", "Durations of calls.")

    @Test func `metrics come in the text format, ordered, with their help and type`() {
        let metrics = Metrics()
        metrics.count(calls, ["method": "Get", "code": "OK"])
        metrics.count(calls, ["method": "Get", "code": "OK"], 2)
        metrics.count(calls, ["method": "Commit", "code": "OK"])
        metrics.gauge(Metrics.Metric("open", "What is open.")) { 1.5 }
        #expect(
            metrics.text == """
                # HELP calls_total Calls.
                # TYPE calls_total counter
                calls_total{method="Commit",code="OK"} 1
                calls_total{method="Get",code="OK"} 3
                # HELP open What is open.
                # TYPE open gauge
                open 1.5

                """)
    }

    @Test func `the buckets of a histogram are cumulative`() {
        let metrics = Metrics()
        for milliseconds in [0, 1, 1, 3, 60_000] { metrics.observe(time, ["m": "a"], .milliseconds(milliseconds)) }
        metrics.observe(time, ["m": "a"], .seconds(Int64.max))
        let lines = metrics.text.split(separator: "\n")
        #expect(lines.contains("call_seconds_bucket{m=\"a\",le=\"0.00025\"} 1"))
        #expect(lines.contains("call_seconds_bucket{m=\"a\",le=\"0.001\"} 3"))
        #expect(lines.contains("call_seconds_bucket{m=\"a\",le=\"0.005\"} 4"))
        #expect(lines.contains("call_seconds_bucket{m=\"a\",le=\"10.0\"} 4"))
        #expect(lines.contains("call_seconds_bucket{m=\"a\",le=\"+Inf\"} 6"))
        #expect(lines.last == "call_seconds_count{m=\"a\"} 6")
    }

    @Test func `a counter and a sum stop at their largest value`() {
        let metrics = Metrics()
        metrics.count(calls, [:], .max)
        metrics.count(calls)
        #expect(metrics.text.contains("calls_total \(Int64.max)\n"))
    }
}
