import IdentityProtocol
import Synchronization
import SystemIO
import Testing

@testable import IdentityServer

@Suite(.timeLimit(.minutes(1))) struct OutboxTests {
    /// A mail asks the accounts for its code, which must not be closed before it has ended.
    @Test func `no mail outlives the outbox`() async throws {
        let ended = Mutex(false)
        let outbox = Outbox(closingLimit: .zero) { _ in }
        try outbox.add {
            await AsyncGate(isOpen: false).wait()
            #expect(Task.isCancelled)
            // What does not end at once when it is cancelled.
            await Task { for _ in 0..<1000 { await Task.yield() } }.value
            ended.withLock { $0 = true }
        }
        await outbox.close()
        #expect(ended.withLock { $0 })
        #expect(throws: IdentityError.self) { try outbox.add {} }
    }

    @Test func `mails have some time to be sent after the server was stopped`() async throws {
        let sent = Mutex(false)
        let errors = Mutex(0)
        let outbox = Outbox(closingLimit: .seconds(3600)) { _ in errors.withLock { $0 += 1 } }
        try outbox.add {
            for _ in 0..<1000 { await Task.yield() }
            try Task.checkCancellation()
            sent.withLock { $0 = true }
        }
        await outbox.close()
        #expect(sent.withLock { $0 } && errors.withLock { $0 } == 0)
    }
}
