package import DocumentModel
package import DocumentStore
import FirestoreProtocol

/// A listener that behaves like clients: it keeps the documents of each target and checks the order
/// of events.
package struct ListenClient {
    package struct Target: Sendable {
        package var documents: [DocumentName: Document] = [:]
        package var isCurrent = false
        package var filterCount: Int32?
        package var unchanged: [DocumentName]?
    }

    package let stream: any ListenStream
    package private(set) var targets: [Int32: Target] = [:]
    package private(set) var removed: [Int32: DocumentStoreError?] = [:]
    /// The documents that each target was reported to have lost, the latest last.
    package private(set) var gone: [Int32: [DocumentName]] = [:]
    package private(set) var token: [UInt8] = []
    package private(set) var readTime = Timestamp(microseconds: 0)
    package private(set) var resets = 0
    private var pending: [ListenEvent] = []

    package init(_ store: any DocumentStore) {
        stream = store.listen()
    }

    package func documents(_ id: Int32) -> [String] { (targets[id]?.documents.keys.map(\.path) ?? []).sorted() }

    /// Applies events up to the next boundary or removal.
    package mutating func advance() async throws {
        while true {
            while !pending.isEmpty {
                let event = pending.removeFirst()
                try apply(event)
                switch event {
                case .boundary, .removed: return
                default: break
                }
            }
            guard let more = try await stream.next() else { throw DocumentStoreContract.Violation("the stream ended") }
            pending = more
        }
    }

    /// Applies events until all targets are current and everything up to `time` was reported.
    package mutating func advance(through time: Timestamp) async throws {
        while readTime < time || targets.isEmpty || targets.values.contains(where: { !$0.isCurrent }) {
            try await advance()
        }
    }

    /// Applies events until each of these targets is current or rejected.
    package mutating func advance(untilAnswered ids: [Int32]) async throws {
        while ids.contains(where: { targets[$0]?.isCurrent != true && removed[$0] == nil }) { try await advance() }
    }

    /// Applies events until everything up to `time` was reported. For that it writes to a document
    /// that the stream listens to.
    package mutating func advance(past time: Timestamp, marker store: any DocumentStore) async throws {
        let name = try DocumentName(database: store.database, path: "markers/1")
        let target: Int32 = 1000
        if targets[target] == nil {
            await stream.add(ListenTarget(id: target, selection: .documents([name])))
            try await advance(untilAnswered: [target])
        }
        let marked = try await store.commit([Write(.update(name, fields: ["time": .timestamp(time)]))]).commitTime
        while readTime < marked { try await advance() }
    }

    /// Applies events until a target is removed.
    package mutating func advance(untilRemoved id: Int32) async throws {
        while removed[id] == nil { try await advance() }
    }

    private mutating func apply(_ event: ListenEvent) throws {
        switch event {
        case .added(let id):
            try require(targets[id] == nil, "target \(id) was added twice")
            targets[id] = Target()
        case .removed(let id, let cause):
            targets[id] = nil
            removed[id] = .some(cause)
        case .current(let id, _, _):
            try require(targets[id] != nil, "target \(id) is current but was not added")
            targets[id]?.isCurrent = true
        case .reset(let id):
            targets[id]?.documents = [:]
            targets[id]?.isCurrent = false
            resets += 1
        case .boundary(let time, let token):
            try require(time >= readTime, "the boundary \(time) is before \(readTime)")
            readTime = time
            self.token = token
        case .changed(let document, let ids, let removedIDs):
            try require(document.updateTime >= document.createTime, "\(document.name) was updated before its creation")
            for id in ids { targets[id]?.documents[document.name] = try Document(document) }
            for id in removedIDs { targets[id]?.documents[document.name] = nil }
        case .left(let name, _, let ids), .deleted(let name, _, let ids):
            for id in ids {
                targets[id]?.documents[name] = nil
                gone[id, default: []].append(name)
            }
        case .existenceFilter(let id, let count, let unchanged):
            targets[id]?.filterCount = count
            targets[id]?.unchanged = unchanged
        }
    }
}
