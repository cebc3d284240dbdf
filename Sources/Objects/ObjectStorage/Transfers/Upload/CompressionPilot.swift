import Glibc
import Synchronization

/// Measures uploads for a `CompressionTuner`. All uploads of a process share one, as they share the
/// processors and the network.
final class CompressionPilot: Sendable {
    static let shared = CompressionPilot(processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The minimum number of bytes of a measurement. With fewer, the latency of the response would
    /// outweigh the transfer.
    private static let leastBytes = 1 << 20
    private static let interval = Duration.seconds(1)

    private struct State {
        var tuner: CompressionTuner
        var inFlight = 0
        /// The time at which the first of the current transfers began, with no idle time since, and
        /// how many bytes were transferred since then.
        var since = ContinuousClock.now
        var bytes = 0
    }

    private let state: Mutex<State>

    init(processors: Int) { state = Mutex(State(tuner: CompressionTuner(processors: processors))) }

    /// Returns what `policy` means for the next chunk of this type.
    func policy(_ policy: CompressionPolicy, for type: MIMEType) -> CompressionPolicy {
        guard policy == .automatic else { return policy }
        return state.withLock { $0.tuner.level(for: type) }.map { .level($0) } ?? .off
    }

    /// Reports that a chunk was compressed.
    func compressed(_ type: MIMEType, _ policy: CompressionPolicy, raw: Int, stored: Int, in time: Duration) {
        guard case .level(let level) = policy else { return }
        state.withLock {
            $0.tuner.compressed(type, level: level, raw: raw, stored: stored, seconds: time / .seconds(1))
        }
    }

    /// Runs `put`, which sends `count` bytes, and measures it.
    func sending(_ count: Int, _ put: () async throws -> Void) async throws {
        state.withLock { state in
            if state.inFlight == 0 { (state.since, state.bytes) = (.now, 0) }
            state.inFlight += 1
        }
        var sent = 0
        defer {
            state.withLock { state in
                state.inFlight -= 1
                state.bytes += sent
                let now = ContinuousClock.now
                guard state.inFlight == 0 || now - state.since >= Self.interval else { return }
                if state.bytes >= Self.leastBytes {
                    state.tuner.sent(state.bytes, seconds: (now - state.since) / .seconds(1))
                }
                (state.since, state.bytes) = (now, 0)
            }
        }
        try await put()
        sent = count
    }
}
