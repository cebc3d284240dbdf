import DocumentStore
import GRPCProtocol
import GRPCServer
import Synchronization
import SystemIO

/// Ends the streams of a service, which have no end of their own: all when the server stops, and
/// one when the caller's token expires or is revoked.
///
/// It needs three tasks for all streams, because the memory of a stream limits how many a server has.
final class StreamWatch: Sendable {
    private struct Stream {
        /// The expiration of the caller's token in seconds since 1970; nil if it has none.
        let expires: Int64?
        let account: String?
        let authorization: String?
        let end: AsyncResult<Void>
    }

    private struct State {
        var streams: [UInt64: Stream] = [:]
        var last: UInt64 = 0
        /// The time at which the expired streams are ended next.
        var nextExpiration = Int64.max
        var tasks: [Task<Void, Never>] = []
    }

    private let authenticator: any CallerAuthenticator
    private let closing: AsyncGate
    /// Seconds since 1970.
    private let now: @Sendable () -> Int64
    private let state = Mutex(State())
    /// Set when a stream expires before all others.
    private let earlier = AsyncSignal()

    /// The longest wait for the next expiration.
    private static let pause: Int64 = 3600

    init(
        _ authenticator: any CallerAuthenticator, closing: AsyncGate, now: @escaping @Sendable () -> Int64,
        environment: Environment
    ) {
        self.authenticator = authenticator
        self.closing = closing
        self.now = now
        let ending = Task { [weak self, closing] in
            await closing.wait()
            self?.endAll()
        }
        let checking = Task { [weak self, revoked = authenticator.revokedAccounts] in
            for await accounts in revoked { self?.check(accounts) }
        }
        let expiring = Task { [weak self, earlier] in
            while !Task.isCancelled, let pause = self?.endExpired() {
                _ = await earlier.wait(atMost: .seconds(pause), in: environment)
            }
        }
        state.withLock { $0.tasks = [ending, checking, expiring] }
    }

    deinit { for task in state.withLock({ $0.tasks }) { task.cancel() } }

    /// Watches a stream until `remove`.
    ///
    /// - Parameters:
    ///   - authorization: The header field that has identified the caller.
    ///   - end: Receives the error with which the stream ends.
    /// - Returns: The number of the stream.
    func add(_ caller: Caller, authorization: String?, _ end: AsyncResult<Void>) -> UInt64 {
        var expires: Int64?
        if case .user(_, let time?, _, _) = caller { expires = time }
        let stream = Stream(expires: expires, account: caller.account, authorization: authorization, end: end)
        let (number, isEarlier) = state.withLock { state in
            state.last += 1
            state.streams[state.last] = stream
            return (state.last, expires.map { $0 < state.nextExpiration } ?? false)
        }
        if isEarlier { earlier.set() }
        // The server may be stopping, and the credential may have been revoked since the call began.
        if closing.isOpen { end.resolve(.failure(FirestoreService.stopping)) }
        check(stream)
        return number
    }

    func remove(_ number: UInt64) { state.withLock { $0.streams[number] = nil } }

    private func endAll() {
        for stream in state.withLock({ Array($0.streams.values) }) {
            stream.end.resolve(.failure(FirestoreService.stopping))
        }
    }

    /// Ends the streams of some accounts whose credentials were revoked. To verify those of all streams may take
    /// seconds.
    private func check(_ accounts: Set<String>) {
        let concerned = state.withLock { state in
            state.streams.values.filter { $0.account.map(accounts.contains) ?? false }
        }
        for stream in concerned { check(stream) }
    }

    private func check(_ stream: Stream) {
        do { _ = try authenticator.identify(authorization: stream.authorization) } catch {
            stream.end.resolve(.failure(error))
        }
    }

    /// Ends the streams whose tokens have expired.
    ///
    /// - Returns: The seconds until the next one expires.
    private func endExpired() -> Int64 {
        let now = now()
        let (expired, next) = state.withLock { state in
            let expired = state.streams.values.filter { $0.expires.map { $0 <= now } ?? false }
            let later = state.streams.values.lazy.compactMap(\.expires).filter { $0 > now }
            state.nextExpiration = min(later.min() ?? .max, now + Self.pause)
            return (expired, state.nextExpiration)
        }
        for stream in expired { stream.end.resolve(.failure(DocumentStoreError.tokenExpired)) }
        return next - now
    }
}

extension StreamWatch {
    /// Runs the parts of a stream until the first of them ends or the stream must end. Then ends the
    /// call, and waits for the other parts.
    ///
    /// - Parameters:
    ///   - status: Returns the status of an error.
    ///   - onEnd: Ends what the parts wait for.
    func run(
        _ call: GRPCServerCall, of caller: Caller, _ parts: [@Sendable () async throws -> Void],
        status: (any Error) -> GRPCStatus, onEnd: () async -> Void = {}
    ) async {
        let end = AsyncResult<Void>()
        let number = add(caller, authorization: call.metadata["authorization"], end)
        defer { remove(number) }
        await withTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask {
                    do { end.resolve(.success(try await part())) } catch { end.resolve(.failure(error)) }
                }
            }
            let outcome: GRPCStatus
            do {
                try await end.value()
                outcome = .ok
            } catch {
                outcome = status(error)
            }
            await onEnd()
            call.finish(outcome)
            group.cancelAll()
        }
    }
}
