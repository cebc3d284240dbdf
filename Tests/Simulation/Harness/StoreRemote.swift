package import DocumentClient
package import DocumentModel
package import DocumentStore
import FirestoreProtocol
import SecurityRules
import Synchronization

/// A document store as a client's remote, without a network in between. It can be cut off.
package final class StoreRemote: RemoteDocuments {
    private let store: any DocumentStore
    private let user: String?
    private struct State {
        var isCut = false
        var streams: [ObjectIdentifier: StoreListen] = [:]
    }
    private let state = Mutex(State())

    /// Creates a remote.
    ///
    /// - Parameter user: The user whose commits are checked by the rules; nil to allow everything.
    package init(_ store: any DocumentStore, for user: String? = nil) {
        self.store = store
        self.user = user
    }

    /// Cuts off every call and stream, or restores the connection.
    package func cut(_ isCut: Bool) {
        let streams = state.withLock { state in
            state.isCut = isCut
            defer { state.streams = [:] }
            return isCut ? Array(state.streams.values) : []
        }
        for stream in streams { stream.close() }
    }

    private func connected<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard !state.withLock({ $0.isCut }) else { throw RemoteError(.transient, "cut off") }
        do { return try await body() } catch let error as DocumentStoreError { throw RemoteError(error) }
    }

    package func commit(_ writes: [Write]) async throws -> CommitResult {
        let user = user
        return try await connected {
            let guarding = user.map { user in CommitGuard(account: user) { try Self.judge($0, by: user) } }
            return try await store.commit(writes, transaction: nil, guarding: guarding)
        }
    }

    /// Checks a commit like `ferry-server`. Documents of programs that use the library have no
    /// owner, and are not checked.
    private static func judge(_ commit: borrowing ProposedCommit, by user: String) throws {
        let (rules, requester) = (BuiltInRules(), Requester.user(user))
        for change in commit.changes where !["counters", "receipts"].contains(change.write.name.collectionPath) {
            let name = change.write.name
            var known: [DocumentName: Document] = [:]
            if let root = name.root { known[root] = try commit.get(root) ?? commit.getAfter(root) }
            let deciding =
                rules.lists(deciding: Array(known.values), for: requester)
                + rules.names(deciding: name, before: change.before, after: change.after, for: requester)
            for other in deciding { known[other] = try commit.get(other) }
            let isAllowed = try rules.allowsWrite(
                to: name, before: change.before, after: change.after, by: requester, address: "\(user)@example.org"
            ) { known[$0] }
            if !isAllowed { throw DocumentStoreError(.permissionDenied, "The rules refuse a write of \(name.path).") }
        }
    }

    package func documents(_ names: [DocumentName]) async throws -> RemoteRead {
        try await connected {
            let result = try await store.get(names, at: .strong)
            let missing = zip(names, result.documents).filter { $0.1 == nil }.map(\.0)
            return RemoteRead(found: result.documents.compactMap(\.self), missing: missing, readTime: result.readTime)
        }
    }

    package func results(of query: Query) async throws -> RemoteRead {
        try await connected {
            let results = try await store.query(query)
            var found: [EncodedDocument] = []
            for try await document in results.documents { found.append(document) }
            return RemoteRead(found: found, missing: [], readTime: results.readTime)
        }
    }

    package func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen {
        try await connected {
            let stream = StoreListen(store.listen(), lineage: try await store.lineage(having: seen))
            for target in targets { await stream.add(target) }
            state.withLock { $0.streams[ObjectIdentifier(stream)] = stream }
            return stream
        }
    }
}

private final class StoreListen: RemoteListen {
    private let stream: any ListenStream
    private let pending = Mutex<[ListenEvent]>([])
    private let lineage: Mutex<String?>

    init(_ stream: any ListenStream, lineage: String) {
        self.stream = stream
        self.lineage = Mutex(lineage)
    }

    nonisolated(nonsending) func next() async throws -> RemoteEvent? {
        if let lineage = lineage.withLock({ $0.take() }) { return .lineage(lineage) }
        while true {
            if let event = pending.withLock({ events in events.isEmpty ? nil : events.removeFirst() }) {
                return RemoteEvent(event)
            }
            let events = try await withTaskCancellationHandler {
                try await stream.next()
            } onCancel: {
                close()
            }
            guard let events else { return nil }
            pending.withLock { $0 += events }
        }
    }

    func add(_ target: RemoteTarget) async {
        await stream.add(query: target.query, id: target.id, token: target.resumeToken)
    }

    func remove(_ target: Int32) async { await stream.remove(target) }

    func close() {
        let stream = stream
        Task { await stream.cancel() }
    }
}

extension RemoteError {
    fileprivate init(_ error: DocumentStoreError) {
        let code: Code =
            switch error.code {
            case .alreadyExists, .failedPrecondition, .notFound: .precondition
            case .permissionDenied: .permission
            case .invalidArgument: .invalid
            default: .transient
            }
        self.init(code, error.message)
    }
}

extension RemoteEvent {
    fileprivate init(_ event: ListenEvent) {
        self =
            switch event {
            case .added(let target): .targetChange(TargetChange(.added, targetIDs: [target]))
            case .removed(let target, let cause):
                .targetChange(TargetChange(.removed, targetIDs: [target], cause: cause.map { RemoteError($0) }))
            case .current(let target, let time, let token):
                .targetChange(TargetChange(.current, targetIDs: [target], resumeToken: token, readTime: time))
            case .reset(let target): .targetChange(TargetChange(.reset, targetIDs: [target]))
            case .boundary(let time, let token):
                .targetChange(TargetChange(.noChange, resumeToken: token, readTime: time))
            case .changed(let document, let added, let removed): .changed(document, added: added, removed: removed)
            case .left(let name, _, let removed): .left(name, removed: removed)
            case .deleted(let name, let time, let removed): .deleted(name, removed: removed, readTime: time)
            case .existenceFilter(let target, let count, _): .filter(target: target, count: count)
            }
    }
}
