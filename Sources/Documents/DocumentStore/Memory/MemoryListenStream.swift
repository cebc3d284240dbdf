import DocumentModel
import FirestoreProtocol

/// A listen stream that asks its queries again after every commit and tells the difference.
actor MemoryListenStream: ListenStream {
    private struct Target {
        let selection: ListenMachine.Selection
        let once: Bool
        var told: [DocumentName: Timestamp] = [:]
        var isCurrent = false
    }

    private enum Wish {
        case add(ListenTarget)
        case remove(Int32)
    }

    private let store: MemoryDocumentStore
    private var targets: [Int32: Target] = [:]
    private var wishes: [Wish] = []
    private var isCancelled = false

    init(_ store: MemoryDocumentStore) {
        self.store = store
    }

    func add(_ target: ListenTarget) async {
        wishes.append(.add(target))
        await store.signalEvent()
    }

    func remove(_ targetID: Int32) async {
        wishes.append(.remove(targetID))
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
            if events.isEmpty, !wishes.isEmpty { events = await grant(wishes.removeFirst()) }
            if !events.isEmpty { return events }
            if wishes.isEmpty { await store.waitForEvent(after: seen) }
        }
    }

    private func grant(_ wish: Wish) async -> [ListenEvent] {
        switch wish {
        case .remove(let id):
            return targets.removeValue(forKey: id) == nil ? [] : [.removed(targetID: id, cause: nil)]
        case .add(let target):
            do {
                guard targets[target.id] == nil else {
                    throw DocumentStoreError(.alreadyExists, "Target ID already exists: \(target.id)")
                }
                if case .token(let token)? = target.resumption, !token.isEmpty, token.count != 8 {
                    throw DocumentStoreError(.invalidArgument, "bad resume token")
                }
                let selection = try ListenMachine.Selection(checking: target.selection, in: store.database)
                targets[target.id] = Target(selection: selection, once: target.once)
            } catch {
                return [.removed(targetID: target.id, cause: DocumentStoreError(error))]
            }
            // Whatever the client holds is told anew.
            let isResuming =
                if case .token(let token)? = target.resumption { !token.isEmpty } else { target.resumption != nil }
            let events: [ListenEvent] =
                [.added(targetID: target.id)] + (isResuming ? [.reset(targetID: target.id)] : [])
            return events + (await update())
        }
    }

    /// What changed in all targets since the last boundary, and a boundary.
    private func update() async -> [ListenEvent] {
        var events: [ListenEvent] = []
        var finished: [Int32] = []
        let ids = targets.keys.sorted()
        guard let (contents, now) = try? await store.contents(ids.compactMap { targets[$0]?.selection }) else {
            return []
        }
        for (id, documents) in zip(ids, contents) {
            guard var target = targets[id] else { continue }
            let present = Dictionary(documents.map { ($0.name, $0.updateTime) }) { first, _ in first }
            for name in target.told.keys.filter({ present[$0] == nil }).sorted() {
                let stillExists = await store.document(name, at: now) != nil
                events.append(
                    stillExists
                        ? .left(name, readTime: now, removedTargetIDs: [id])
                        : .deleted(name, readTime: now, removedTargetIDs: [id]))
            }
            for document in documents where target.told[document.name] != document.updateTime {
                events.append(.changed(EncodedDocument(document), targetIDs: [id], removedTargetIDs: []))
            }
            target.told = present
            if !target.isCurrent {
                events.append(.current(targetID: id, readTime: now, token: Self.token(now)))
                if target.once { finished.append(id) }
            }
            target.isCurrent = true
            targets[id] = target
        }
        guard !events.isEmpty else { return [] }
        events.append(.boundary(readTime: now, token: Self.token(now)))
        for id in finished {
            targets[id] = nil
            events.append(.removed(targetID: id, cause: nil))
        }
        return events
    }

    private static func token(_ time: Timestamp) -> [UInt8] {
        let word = UInt64(bitPattern: time.microseconds)
        return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
}
