import DocumentModel
import FirestoreProtocol

/// A listen stream that, after every commit, compares the results of its queries with what it has
/// reported.
actor MemoryListenStream: ListenStream {
    private struct Target {
        let selection: ListenMachine.Selection
        let once: Bool
        var reported: [DocumentName: Timestamp] = [:]
        /// The time up to which everything was reported.
        var reportedUntil: Timestamp?
        var isCurrent = false
        /// Whether the client sent a wrong number of the documents that it has, and the time to which
        /// the number refers; nil if it sent none. Used until the target is current.
        var filter: (isWrong: Bool, since: Timestamp)?
    }

    private enum Request {
        case add(ListenTarget)
        case remove(Int32)
    }

    private let store: MemoryDocumentStore
    private var targets: [Int32: Target] = [:]
    private var requests: [Request] = []
    private var isCancelled = false

    init(_ store: MemoryDocumentStore) {
        self.store = store
    }

    func add(_ target: ListenTarget) async {
        requests.append(.add(target))
        await store.signalEvent()
    }

    func remove(_ targetID: Int32) async {
        requests.append(.remove(targetID))
        await store.signalEvent()
    }

    func cancel() async {
        isCancelled = true
        await store.signalEvent()
    }

    func next() async throws -> [ListenEvent]? {
        while true {
            try Task.checkCancellation()
            let seen = await store.eventCount
            if isCancelled { return nil }
            var events = await update()
            if events.isEmpty, !requests.isEmpty { events = await handle(requests.removeFirst()) }
            if !events.isEmpty { return events }
            if requests.isEmpty { await store.waitForEvent(after: seen) }
        }
    }

    private func handle(_ request: Request) async -> [ListenEvent] {
        switch request {
        case .remove(let id):
            return targets.removeValue(forKey: id) == nil ? [] : [.removed(targetID: id, cause: nil)]
        case .add(let target):
            do {
                try ListenMachine.checkAdding(target, to: Array(targets.keys))
                let selection = try ListenMachine.Selection(checking: target.selection, in: store.database)
                let start = try resumption(target.resumption)
                var added = Target(selection: selection, once: target.once)
                var events: [ListenEvent] = [.added(targetID: target.id)]
                switch start {
                case .none: break
                case .impossible: events.append(.reset(targetID: target.id))
                case .after(let start):
                    let held = await store.contents(selection, at: start)
                    added.reported = Dictionary(held.map { ($0.name, $0.updateTime) }) { first, _ in first }
                    added.filter = target.expectedCount.map { (Int($0) != held.count, start) }
                }
                targets[target.id] = added
                return events + (await update())
            } catch {
                return [.removed(targetID: target.id, cause: DocumentStoreError(error))]
            }
        }
    }

    private enum Resumption {
        case none
        case after(Timestamp)
        case impossible
    }

    private func resumption(_ request: ListenTarget.Resumption?) throws(DocumentStoreError) -> Resumption {
        switch request {
        case nil: return .none
        case .readTime(let time): return .after(time)
        case .token(let token):
            guard !token.isEmpty else { return .none }
            switch ListenMachine.parse(token: token, epoch: store.epoch) {
            case .malformed: throw DocumentStoreError(.invalidArgument, "bad resume token")
            case .foreign: return .impossible
            case .time(let time): return .after(time)
            }
        }
    }

    /// Returns the changes of all targets since the last boundary, and a boundary.
    private func update() async -> [ListenEvent] {
        var events: [ListenEvent] = []
        var finished: [Int32] = []
        let ids = targets.keys.sorted()
        let selections = ids.compactMap { id in targets[id].map { ($0.selection, $0.reportedUntil) } }
        guard let (contents, now) = try? await store.contents(selections) else { return [] }
        for (id, contents) in zip(ids, contents) {
            guard var target = targets[id] else { continue }
            let documents: [Document]
            let gone: [DocumentName]
            switch contents {
            case .all(let all):
                documents = all
                gone = Set(target.reported.keys).subtracting(all.map(\.name)).sorted()
            case .changes(let members, let others):
                documents = members
                gone = others.filter { target.reported[$0] != nil }
            }
            for name in gone {
                target.reported[name] = nil
                let stillExists = await store.document(name, at: now) != nil
                events.append(
                    stillExists
                        ? .left(name, readTime: now, removedTargetIDs: [id])
                        : .deleted(name, readTime: now, removedTargetIDs: [id]))
            }
            for document in documents where target.reported[document.name] != document.updateTime {
                events.append(.changed(EncodedDocument(document), targetIDs: [id], removedTargetIDs: []))
                target.reported[document.name] = document.updateTime
            }
            target.reportedUntil = now
            if !target.isCurrent {
                if let (isWrong, since) = target.filter {
                    let unchanged = isWrong ? documents.filter { $0.updateTime <= since }.map(\.name) : nil
                    events.append(
                        .existenceFilter(targetID: id, count: Int32(clamping: documents.count), unchanged: unchanged))
                }
                events.append(.current(targetID: id, readTime: now, token: token(now)))
                if target.once { finished.append(id) }
            }
            target.isCurrent = true
            targets[id] = target
        }
        guard !events.isEmpty else { return [] }
        events.append(.boundary(readTime: now, token: token(now)))
        for id in finished {
            targets[id] = nil
            events.append(.removed(targetID: id, cause: nil))
        }
        return events
    }

    private func token(_ time: Timestamp) -> [UInt8] { ListenMachine.token(time, epoch: store.epoch) }
}
