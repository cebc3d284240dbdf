import Glibc
import SQLite
import Synchronization

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
    var inMilliseconds: Double { inSeconds * 1000 }
}

/// How long many calls took.
final class Latencies: Sendable {
    private let values = Mutex<[Duration]>([])

    func add(_ value: Duration) { values.withLock { $0.append(value) } }

    func time<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let start = ContinuousClock.now
        let result = try await body()
        add(ContinuousClock.now - start)
        return result
    }

    /// Milliseconds below which the given share of the calls stayed.
    func percentile(_ share: Double) -> Double {
        let sorted = values.withLock { $0.sorted() }
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))].inMilliseconds
    }
}

extension Double {
    /// With `places` decimals, thousands apart.
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

/// Runs `body` over and over in `workers` tasks for `duration`; answers how many calls there were a second.
func rate(
    of workers: Int, for duration: Duration,
    _ body: @escaping @Sendable (_ worker: Int, _ round: Int) async throws -> Void
) async throws -> Double {
    let start = ContinuousClock.now
    let end = start + duration
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
        for worker in 0..<workers {
            group.addTask {
                var round = 0
                while ContinuousClock.now < end {
                    try await body(worker, round)
                    round += 1
                }
                return round
            }
        }
        var total = 0
        for try await rounds in group { total += rounds }
        return total
    }
    return Double(count) / (ContinuousClock.now - start).inSeconds
}

/// Starts calls when they are due, whether or not those before have ended; returns when all `count` have.
///
/// A thread of its own keeps the time: the runtime's timers would cost as much as the calls do.
func timetable(
    _ count: Int, every pause: Duration,
    _ body: @escaping @Sendable (_ call: Int, _ due: ContinuousClock.Instant) async throws -> Void
) async throws {
    let thread = SerialThread()
    defer { thread.stop() }
    let calls = try await thread.run {
        let start = ContinuousClock.now
        return (0..<count).map { call in
            let due = start + pause * call
            let left = (due - .now).components
            if left.seconds >= 0, left.attoseconds > 0 {
                var rest = timespec(tv_sec: Int(left.seconds), tv_nsec: Int(left.attoseconds / 1_000_000_000))
                nanosleep(&rest, nil)
            }
            return Task.immediate { try await body(call, due) }
        }
    }
    for call in calls { try await call.value }
}
