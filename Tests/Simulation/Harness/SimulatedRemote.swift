import DocumentClient
import DocumentModel
import FirestoreProtocol

/// The server of the store, which all machines share.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class SimulatedServer: @unchecked Sendable {
    var isDown = false
    /// The number of restores. Requests sent before the last one never arrive.
    var restoreCount = 0
    /// The number of commits that may still arrive.
    fileprivate(set) var underWay = 0
    /// The tasks whose birth mark a commit removed, which no user does. A new file may be read
    /// while its editor writes it.
    private(set) var robbed: Set<String> = []
    /// The birth marks of each task.
    private var marks: [String: Set<String>] = [:]
    /// Called with each task that goes into the trash, and its birth marks.
    var onDeletion: (_ path: String, _ marks: Set<String>) -> Void = { _, _ in }

    /// Examines writes before they are stored.
    fileprivate func check(_ writes: [Write]) {
        for write in writes {
            guard case .update(let name, let fields) = write.operation, name.collectionPath == "tasks" else { continue }
            if fields["deletedTime"] != nil
                || write.transforms.contains(where: { $0.path == FieldPath(key: "deletedTime") })
            {
                onDeletion(name.path, marks[name.path] ?? [])
            }
            guard write.mask?.contains(FieldPath(key: "notes")) != false else { continue }
            let found = Words.found(in: Array((fields["notes"]?.stringValue ?? "").utf8), "b")
            if !found.isEmpty {
                marks[name.path] = found
            } else if marks[name.path] != nil {
                robbed.insert(name.path)
            }
        }
    }
}

/// The connection of a machine to the store, which can be slow, lossy, repeat requests, or be cut.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class SimulatedRemote: RemoteDocuments, @unchecked Sendable {
    enum Link: String {
        case good
        /// Every call fails at once, and streams break.
        case cut
        /// Calls never return before their deadline, and streams deliver nothing more.
        case silent
    }

    private let remote: any RemoteDocuments
    private let server: SimulatedServer
    private let scheduler: Scheduler
    /// The streams in the order in which they were opened. An order by address would differ between
    /// runs.
    private var streams: [Stream] = []
    private(set) var link = Link.good
    /// The percentage of calls whose request or response is lost.
    var lossRate = 0
    var slowest = 40
    /// The writes that the remote refuses permanently.
    var refuses: (Write) -> RemoteError.Code? = { _ in nil }
    /// Whether no account is signed in, or the token has expired.
    var isSignedOut = false {
        didSet { if isSignedOut { closeStreams() } }
    }

    init(_ remote: any RemoteDocuments, _ server: SimulatedServer, _ scheduler: Scheduler) {
        self.remote = remote
        self.server = server
        self.scheduler = scheduler
    }

    func set(_ link: Link) {
        self.link = link
        if link == .cut { closeStreams() }
    }

    func closeStreams() { for stream in streams { stream.close() } }

    /// Ends the connection, because the process is gone: nothing is delivered or answered any more.
    func hangUp() {
        closeStreams()
        streams = []
    }

    private func travel() async throws {
        let count = server.restoreCount
        try await scheduler.sleep(for: scheduler.random.milliseconds(1...max(1, slowest)))
        if link == .silent { try await scheduler.sleep(for: .seconds(30)) }
        if link != .good { throw RemoteError(.transient, "the network is \(link.rawValue)") }
        if server.isDown || server.restoreCount != count { throw RemoteError(.transient, "the server is down") }
        if scheduler.random.chance(lossRate) { throw RemoteError(.transient, "lost on the way") }
    }

    /// Throws if the caller is not signed in. The remote checks that before a call, so a completed
    /// call is answered.
    private func checkSignIn() throws {
        if isSignedOut { throw RemoteError(.unauthenticated, "nobody is signed in") }
    }

    private func call<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        try await travel()
        try checkSignIn()
        let result = try await body()
        try await travel()
        return result
    }

    // MARK: Calls

    func commit(_ writes: [Write]) async throws -> CommitResult {
        server.underWay += 1
        defer { server.underWay -= 1 }
        do {
            try await travel()
        } catch let error as RemoteError {
            // A request that was cut off may still arrive.
            if scheduler.random.chance(40) { deliverLate(writes) }
            throw error
        }
        try checkSignIn()
        if let code = writes.lazy.compactMap({ self.refuses($0) }).first { throw RemoteError(code, "refused") }
        if scheduler.random.chance(3) { deliverLate(writes) }
        let result = try await remote.commit(writes)
        server.check(writes)
        try await travel()
        return result
    }

    /// Delivers the same request once more, much later.
    private func deliverLate(_ writes: [Write]) {
        let (remote, server, pause) = (remote, server, scheduler.random.milliseconds(1...20_000))
        let count = server.restoreCount
        server.underWay += 1
        scheduler.after(pause) {
            server.underWay -= 1
            guard !server.isDown, server.restoreCount == count else { return }
            Task { _ = try? await remote.commit(writes) }
        }
    }

    func documents(_ names: [DocumentName]) async throws -> RemoteRead {
        let remote = remote
        return try await call { try await remote.documents(names) }
    }

    func results(of query: Query) async throws -> RemoteRead {
        let remote = remote
        return try await call { try await remote.results(of: query) }
    }

    func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen {
        try await travel()
        try checkSignIn()
        let stream = Stream(try await remote.listen(targets, seen: seen), self)
        streams.append(stream)
        return stream
    }

    // MARK: Streams

    private final class Stream: RemoteListen, @unchecked Sendable {
        private let stream: any RemoteListen
        private let remote: SimulatedRemote
        private var isBroken = false
        private var lastArrival = Duration.zero

        init(_ stream: any RemoteListen, _ remote: SimulatedRemote) {
            self.stream = stream
            self.remote = remote
        }

        nonisolated(nonsending) func next() async throws -> RemoteEvent? {
            if isBroken { throw RemoteError(.transient, "the stream broke") }
            let event = try await stream.next()
            let scheduler = remote.scheduler
            if scheduler.now > lastArrival + .milliseconds(1) {
                try await scheduler.sleep(for: scheduler.random.milliseconds(1...max(1, remote.slowest)))
                if scheduler.random.chance(remote.lossRate) { close() }
            }
            // The stream is silent until a client notices.
            while remote.link == .silent, !isBroken { try await scheduler.sleep(for: .seconds(1)) }
            if isBroken { throw RemoteError(.transient, "the stream broke") }
            lastArrival = scheduler.now
            return event
        }

        func add(_ target: RemoteTarget) async { await stream.add(target) }

        func remove(_ target: Int32) async { await stream.remove(target) }

        func close() {
            isBroken = true
            remote.streams.removeAll { $0 === self }
            stream.close()
        }
    }
}
