import IdentityProtocol
import Synchronization
import SystemIO

/// Mails that are sent behind the answers to the requests for them, so that the time of an answer
/// does not tell whether there is a mail.
final class Outbox: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var last = 0
    }

    /// The maximum number of mails that are being sent.
    private static let limit = 100
    /// The time that mails have to be sent after the server was stopped.
    private static let closingLimit = Duration.seconds(5)

    private let state = Mutex(State())
    private let onError: @Sendable (any Error) -> Void

    init(onError: @escaping @Sendable (any Error) -> Void) { self.onError = onError }

    /// Starts to send a mail.
    ///
    /// - Parameter send: Decides whether there is a mail, and returns when it was accepted or refused.
    /// - Throws: `IdentityError` with `.tooManyAttempts` if too many are being sent.
    func add(_ send: @escaping @Sendable () async throws -> Void) throws {
        try state.withLock { state in
            guard state.tasks.count < Self.limit else {
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

    /// Waits for the mails for a few seconds, and cancels the others.
    func close() async {
        let waiting = Task<Void, any Error> { await wait() }
        _ = try? await waiting.value(within: Self.closingLimit)
        for task in state.withLock({ Array($0.tasks.values) }) { task.cancel() }
    }
}
