import SQLite
import Synchronization

/// Stretches passwords one at a time on a thread of its own, in turn by the callers' addresses, so that a flood of sign-ins from
/// one address neither delays the others by more than one hash each nor takes memory.
final class PasswordHasher: Sendable {
    /// Requests that wait at most, of all addresses and of one.
    static let limit = 200
    static let limitPerAddress = 100

    private struct State {
        var queue = FairQueue<String, @Sendable () -> Void>(limit: limit, perKey: limitPerAddress)
        var isRunning = false
    }

    private let thread = SerialThread()
    private let state = Mutex(State())

    deinit { thread.stop() }

    /// Runs `body` when it is the address's turn.
    ///
    /// - Throws: what `body` throws; `IdentityError` with `.tooManyAttempts` where too many wait.
    func run<Result: Sendable>(
        for address: String, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let (isAccepted, mustStart) = state.withLock { state in
                let isAccepted = state.queue.append(
                    { continuation.resume(with: Swift.Result { try body() }) }, for: address)
                defer { if isAccepted { state.isRunning = true } }
                return (isAccepted, isAccepted && !state.isRunning)
            }
            if mustStart { thread.async { [self] in drain() } }
            guard !isAccepted else { return }
            continuation.resume(
                throwing: IdentityError(.tooManyAttempts, "Too many people sign in at once; try again in a moment."))
        }
    }

    private func drain() {
        while let job = next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let job = state.queue.next()
            if job == nil { state.isRunning = false }
            return job
        }
    }
}
