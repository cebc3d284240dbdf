package import DocumentClient
package import DocumentModel
import FirestoreProtocol
import Synchronization

/// A `MemoryRemote` with the protocol of a real remote: it has streams and can fail.
package final class ServedRemote: RemoteDocuments {
    private struct State {
        var remote = MemoryRemote()
        var streams: [Int: Stream] = [:]
        var nextStream = 0
        var failure: RemoteError.Code?
        var losesAnswers = false
        var lineage: String?
        /// The collections that the client may not watch.
        var refused: Set<String> = []
        /// Runs while the next stream is being opened.
        var opening: (@Sendable () async -> Void)?
        /// Runs between the next reading of results and the answer.
        var answering: (@Sendable () async -> Void)?
    }

    private struct Stream {
        var targets: [RemoteTarget]
        var position: Int
        let events: AsyncThrowingStream<RemoteEvent, any Error>.Continuation
    }

    private let state = Mutex(State())

    package init() {}

    /// Runs `body` with the remote and reports its changes to the streams.
    package func with<Result>(_ body: (MemoryRemote) throws -> Result) rethrows -> Result {
        try state.withLock { state in
            defer { Self.tell(&state) }
            return try body(state.remote)
        }
    }

    /// Makes every call and every stream fail with `code`; nil to work again.
    package func fail(_ code: RemoteError.Code?) {
        state.withLock { state in
            state.failure = code
            guard let code else { return }
            for stream in state.streams.values { stream.events.finish(throwing: RemoteError(code, "unplugged")) }
            state.streams = [:]
        }
    }

    /// Whether commits are applied but answered with a failure.
    package func loseAnswers(_ losesAnswers: Bool) { state.withLock { $0.losesAnswers = losesAnswers } }

    /// Ends all streams. The next ones begin with this lineage.
    package func set(lineage: String) {
        state.withLock { state in
            state.lineage = lineage
            for stream in state.streams.values { stream.events.finish() }
            state.streams = [:]
        }
    }

    package func refuse(toWatch collection: String) { state.withLock { _ = $0.refused.insert(collection) } }

    package func whileOpening(_ body: @escaping @Sendable () async -> Void) { state.withLock { $0.opening = body } }

    package func whileAnswering(_ body: @escaping @Sendable () async -> Void) { state.withLock { $0.answering = body } }

    package var streamCount: Int { state.withLock { $0.streams.count } }

    package func commit(_ writes: [Write]) async throws -> CommitResult {
        try state.withLock { state in
            if let code = state.failure { throw RemoteError(code, "unplugged") }
            defer { Self.tell(&state) }
            let result = try state.remote.commit(writes)
            if state.losesAnswers { throw RemoteError(.transient, "lost") }
            return result
        }
    }

    package func documents(_ names: [DocumentName]) async throws -> RemoteRead {
        try state.withLock { state in
            if let code = state.failure { throw RemoteError(code, "unplugged") }
            return state.remote.read(names)
        }
    }

    package func results(of query: Query) async throws -> RemoteRead {
        let (answer, answering) = try state.withLock { state in
            if let code = state.failure { throw RemoteError(code, "unplugged") }
            return (try state.remote.results(of: query), state.answering.take())
        }
        await answering?()
        return answer
    }

    package func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen {
        if let opening = state.withLock({ $0.opening.take() }) { await opening() }
        return try state.withLock { state in
            if let code = state.failure { throw RemoteError(code, "unplugged") }
            let (events, continuation) = AsyncThrowingStream.makeStream(of: RemoteEvent.self)
            let id = state.nextStream
            state.nextStream += 1
            if let lineage = state.lineage { continuation.yield(.lineage(lineage)) }
            for target in targets { for event in Self.start(target, state) { continuation.yield(event) } }
            continuation.yield(state.remote.boundary())
            state.streams[id] = Stream(targets: targets, position: state.remote.log.count, events: continuation)
            return ServedListen(remote: self, id: id, events: events)
        }
    }

    fileprivate func add(_ target: RemoteTarget, to stream: Int) {
        state.withLock { state in
            Self.tell(&state)
            for event in Self.start(target, state) { state.streams[stream]?.events.yield(event) }
            state.streams[stream]?.events.yield(state.remote.boundary())
            state.streams[stream]?.targets.append(target)
        }
    }

    private static func start(_ target: RemoteTarget, _ state: State) -> [RemoteEvent] {
        guard let collection = target.query.collectionID, state.refused.contains(collection) else {
            return state.remote.start(target)
        }
        let cause = RemoteError(.permission, "not for you")
        return [.targetChange(.init(.removed, targetIDs: [target.id], cause: cause))]
    }

    fileprivate func remove(_ target: Int32, from stream: Int) {
        state.withLock { state in
            state.streams[stream]?.targets.removeAll { $0.id == target }
            state.streams[stream]?.events.yield(.targetChange(.init(.removed, targetIDs: [target])))
        }
    }

    fileprivate func close(_ stream: Int) {
        state.withLock { $0.streams.removeValue(forKey: stream)?.events.finish() }
    }

    private static func tell(_ state: inout State) {
        for (id, stream) in state.streams {
            for event in state.remote.news(stream.targets, after: stream.position) { stream.events.yield(event) }
            state.streams[id]?.position = state.remote.log.count
        }
    }
}

private final class ServedListen: RemoteListen {
    private let remote: ServedRemote
    private let id: Int
    private let events: AsyncThrowingStream<RemoteEvent, any Error>

    init(remote: ServedRemote, id: Int, events: AsyncThrowingStream<RemoteEvent, any Error>) {
        self.remote = remote
        self.id = id
        self.events = events
    }

    nonisolated(nonsending) func next() async throws -> RemoteEvent? {
        var iterator = events.makeAsyncIterator()
        return try await iterator.next()
    }

    func add(_ target: RemoteTarget) async { remote.add(target, to: id) }
    func remove(_ target: Int32) async { remote.remove(target, from: id) }
    func close() { remote.close(id) }
}
