import DocumentStore
import GRPCProtocol
import Synchronization
import SystemIO
import Testing

@testable import FirestoreServer

@Suite(.timeLimit(.minutes(1)))
struct StreamWatchTests {
    private final class Credentials: CallerAuthenticator {
        private let revoked = Mutex<Set<String>>([])
        private let identified = Mutex<[String?]>([])
        let revokedAccounts: AsyncStream<Set<String>>
        private let changed: AsyncStream<Set<String>>.Continuation

        init() { (revokedAccounts, changed) = AsyncStream.makeStream() }

        func revoke(_ credential: String) {
            revoked.withLock { _ = $0.insert(credential) }
            changed.yield([credential])
        }

        /// The credentials that were verified.
        var verified: [String?] { identified.withLock { $0 } }

        func identify(authorization: String?) throws -> Caller {
            identified.withLock { $0.append(authorization) }
            guard let authorization, !revoked.withLock({ $0.contains(authorization) }) else {
                throw DocumentStoreError.unauthenticated
            }
            return .user(id: authorization, expires: nil)
        }

        func admit(_ caller: Caller) throws {}
    }

    private let credentials = Credentials()
    private let closing = AsyncGate(isOpen: false)

    /// Returns a watch that waits for an hour, and sets its time, in seconds since 1970.
    private func watch() async -> (StreamWatch, setTime: @Sendable (Int64) -> Void) {
        let (time, next, waits) = (Clock(), AsyncSignal(), AsyncSignal())
        var environment = Environment.system
        environment.now = { .seconds(time.now) }
        environment.sleepUntil = { deadline in
            waits.set()
            while .seconds(time.now) < deadline {
                await next.wait()
                try Task.checkCancellation()
            }
        }
        let watch = StreamWatch(credentials, closing: closing, now: { time.now }, environment: environment)
        await waits.wait()
        return (
            watch,
            {
                time.set($0)
                next.set()
            }
        )
    }

    private final class Clock: Sendable {
        private let value = Mutex<Int64>(1000)

        var now: Int64 { value.withLock { $0 } }

        func set(_ time: Int64) { value.withLock { $0 = time } }
    }

    private func add(_ id: String, expires: Int64?, to watch: StreamWatch) -> AsyncResult<Void> {
        let end = AsyncResult<Void>()
        _ = watch.add(.user(id: id, expires: expires), authorization: id, end)
        return end
    }

    @Test func `streams end with their tokens`() async throws {
        let (watch, setTime) = await watch()
        let late = add("anna", expires: 1200, to: watch)
        let early = add("bob", expires: 1100, to: watch)
        let none = add("program", expires: nil, to: watch)
        setTime(1100)
        await #expect(throws: DocumentStoreError.tokenExpired) { try await early.value() }
        #expect(late.result == nil)
        setTime(1200)
        await #expect(throws: DocumentStoreError.tokenExpired) { try await late.value() }
        #expect(none.result == nil)
    }

    @Test func `streams end when their credentials are revoked`() async throws {
        let (watch, _) = await watch()
        let (kept, revoked) = (add("anna", expires: 1200, to: watch), add("bob", expires: 1200, to: watch))
        credentials.revoke("bob")
        await #expect(throws: DocumentStoreError.unauthenticated) { try await revoked.value() }
        #expect(kept.result == nil)
        // To verify the tokens of thousands of streams would take seconds.
        #expect(credentials.verified == ["anna", "bob", "bob"])
        // The credential was revoked between the beginning of the call and that of the stream.
        await #expect(throws: DocumentStoreError.unauthenticated) {
            try await add("bob", expires: 1200, to: watch).value()
        }
    }

    @Test func `all streams end when the server stops, later ones too`() async throws {
        let (watch, _) = await watch()
        let present = add("anna", expires: nil, to: watch)
        let gone = AsyncResult<Void>()
        watch.remove(watch.add(.user(id: "bob", expires: nil), authorization: "bob", gone))
        closing.set(isOpen: true)
        await #expect(throws: FirestoreService.stopping) { try await present.value() }
        #expect(gone.result == nil)
        await #expect(throws: FirestoreService.stopping) { try await add("eve", expires: nil, to: watch).value() }
    }
}
