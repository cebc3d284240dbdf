import IdentityProtocol
import Synchronization
import SystemIO

/// Hashes passwords one at a time on a thread of its own, serving the callers' addresses in turn.
///
/// A flood of sign-ins from one address neither delays each other address by more than one hash nor
/// takes memory.
final class PasswordHasher: Sendable {
    /// The maximum number of waiting requests. `limitPerAddress` is the maximum for one address.
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

    /// Runs `body` when it is the turn of `address`, or of the other key by which the request is
    /// counted.
    ///
    /// - Throws: The errors of `body`; `IdentityError` with `.tooManyAttempts` if too many requests
    ///   wait.
    func run<Result: Sendable>(
        for address: String, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                run: { continuation.resume(with: Swift.Result { try body() }) },
                refuse: {
                    continuation.resume(
                        throwing: IdentityError(
                            .tooManyAttempts, "Too many users sign in at once; try again in a moment."))
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
