import IdentityProtocol
import Synchronization
import SystemIO

/// Mails that are sent behind the answers to the requests for them, so that the time of an answer
/// does not tell whether there is a mail.
final class Outbox: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var last = 0
        var isClosed = false
    }

    /// The maximum number of mails that are being sent.
    private static let limit = 100
    private let state = Mutex(State())
    private let closingLimit: Duration
    private let onError: @Sendable (any Error) -> Void

    /// Creates an outbox.
    ///
    /// - Parameter closingLimit: The time that mails have to be sent after the server was stopped.
    init(closingLimit: Duration = .seconds(5), onError: @escaping @Sendable (any Error) -> Void) {
        self.closingLimit = closingLimit
        self.onError = onError
    }

    /// Starts to send a mail.
    ///
    /// - Parameter send: Decides whether there is a mail, and returns when it was accepted or refused.
    /// - Throws: `IdentityError` with `.tooManyAttempts` if too many are being sent, or the outbox is closed.
    func add(_ send: @escaping @Sendable () async throws -> Void) throws {
        try state.withLock { state in
            guard !state.isClosed, state.tasks.count < Self.limit else {
                throw IdentityError(.tooManyAttempts, "Too many mails are being sent. Try again later.")
            }
            state.last += 1
            let number = state.last
            state.tasks[number] = Task { [self] in
                do { try await send() } catch { onError(error) }
                self.state.withLock { $0.tasks[number] = nil }
            }
        }
    }

    /// Waits for the mails that are being sent.
    func wait() async {
        for task in state.withLock({ Array($0.tasks.values) }) { await task.value }
    }

    /// Refuses further mails, waits for the others for a few seconds, then cancels them and waits for their end: what
    /// they use may be closed after that.
    func close() async {
        state.withLock { $0.isClosed = true }
        let waiting = Task<Void, any Error> { await wait() }
        _ = try? await waiting.value(within: closingLimit)
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
        await wait()
    }
}
