import IdentityProtocol
import SQLite
import Synchronization

/// Stretches passwords one at a time on a thread of its own, in turn by the callers' addresses, so
/// that a flood of sign-ins from one address neither delays the others by more than one hash each
/// nor takes memory.
final class PasswordHasher: Sendable {
    /// Requests that wait at most, of all addresses and of one.
    static let limit = 200
    static let limitPerAddress = 100

    private struct Job: Sendable {
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    private struct State {
        var queue = FairQueue<String, Job>(limit: limit, perKey: limitPerAddress)
        var isRunning = false
    }

    private let thread = SerialThread()
    private let state = Mutex(State())

    deinit { thread.stop() }

    /// Runs `body` when it is the turn of `address`, or of whatever else the request is counted by.
    ///
    /// - Throws: what `body` throws; `IdentityError` with `.tooManyAttempts` where too many wait.
    func run<Result: Sendable>(
        for address: String, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                run: { continuation.resume(with: Swift.Result { try body() }) },
                refuse: {
                    continuation.resume(
                        throwing: IdentityError(
                            .tooManyAttempts, "Too many people sign in at once; try again in a moment."))
                })
            let (refused, mustStart) = state.withLock { state in
                let refused = state.queue.append(job, for: address)
                let mustStart = !state.isRunning && state.queue.count > 0
                if mustStart { state.isRunning = true }
                return (refused, mustStart)
            }
            if mustStart { thread.async { [self] in drain() } }
            refused?.refuse()
        }
    }

    private func drain() {
        while let job = next() { job.run() }
    }

    private func next() -> Job? {
        state.withLock { state in
            let job = state.queue.next()
            if job == nil { state.isRunning = false }
            return job
        }
    }
}
