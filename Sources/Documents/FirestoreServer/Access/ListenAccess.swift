import DocumentModel
import DocumentStore
import FirestoreProtocol
import Synchronization

/// Applies the rules to the targets of one listen stream, when they are added and again where a
/// change may have taken the right away: whose a document is, or the one above it, is known from
/// its content only.
final class ListenAccess: Sendable {
    private struct State {
        struct Entry {
            /// nil: allowed whatever changes.
            let selection: StoreListenTarget.Selection?
            /// What the account is charged for it.
            let bytes: Int
        }

        /// Of each id the target that has it, then those that are still to be answered.
        var targets: [Int32: [Entry]] = [:]
        /// How many selections are to be checked at each change.
        var checkedCount = 0
        /// Targets that were refused after the fact; the client knows, the store's own word of it is not passed on.
        var denied = Set<Int32>()

        mutating func drop(_ target: Int32, at index: Int) -> Entry? {
            guard var entries = targets[target], entries.indices.contains(index) else { return nil }
            let entry = entries.remove(at: index)
            if entry.selection != nil { checkedCount -= 1 }
            targets[target] = entries.isEmpty ? nil : entries
            return entry
        }
    }

    private let access: any DocumentAccessPolicy
    private let usage: AccountMeter
    private let store: any DocumentStore
    private let caller: Caller
    private let state = Mutex(State())

    init(access: any DocumentAccessPolicy, usage: AccountMeter, store: any DocumentStore, caller: Caller) {
        self.access = access
        self.usage = usage
        self.store = store
        self.caller = caller
    }

    /// - Throws: `DocumentStoreError.permissionDenied`, and where the account listens to too much.
    func add(_ target: StoreListenTarget) async throws {
        switch target.selection {
        case .query(let query):
            try await access.check(watched: query, asOf: nil, in: store, by: caller)
            try await checkResumption(of: target, query)
        // Nothing of then is told of them.
        case .documents(let names):
            let documents = try await store.get(names, at: .strong).documents
            try await access.check(get: names, documents, in: store, by: caller)
        }
        guard caller != .administrator else { return }
        let needsChecks =
            switch target.selection {
            // A query for what is the caller's own by its filter stays allowed.
            case .query(let query): try !access.allowsForEver(query, by: caller)
            case .documents: true
            }
        let bytes = target.memoryCost
        try usage.take(.listenTargets, for: caller)
        do { try usage.take(.listenBytes, bytes, for: caller) } catch {
            usage.release(.listenTargets, for: caller)
            throw error
        }
        state.withLock { state in
            let entry = State.Entry(selection: needsChecks ? target.selection : nil, bytes: bytes)
            state.targets[target.id, default: []].append(entry)
            if needsChecks { state.checkedCount += 1 }
        }
    }

    /// Gives back what the account was charged for the stream's targets.
    func releaseAll() {
        release(
            state.withLock { state in
                defer { state.targets = [:] }
                return state.targets.values.flatMap { $0 }
            })
    }

    private func release(_ entries: [State.Entry]) {
        guard !entries.isEmpty else { return }
        usage.release(.listenTargets, entries.count, for: caller)
        usage.release(.listenBytes, entries.reduce(0) { $0 + $1.bytes }, for: caller)
    }

    /// A stream that goes on tells the names of what the query found where the client left off.
    private func checkResumption(of target: StoreListenTarget, _ query: Query) async throws {
        let past: Timestamp? =
            switch target.resumption {
            case .token(let token)?: store.resumeTime(of: token)
            case .readTime(let time)?: time
            case nil: nil
            }
        guard let past else { return }
        do {
            try await access.check(watched: query, asOf: past, in: store, by: caller)
        } catch let error as DocumentStoreError where error != .permissionDenied {
            // A time that the store cannot go on from: it tells everything anew, or refuses.
        }
    }

    /// What the client may be told of an event, and the targets that must end, of which `allowed` tells it.
    func check(_ event: ListenEvent) async throws -> (allowed: [ListenEvent], denied: [Int32]) {
        if case .removed(let target, let cause) = event {
            // A second target of one id is refused, and the first goes on.
            let isRefusal = cause?.code == .alreadyExists
            let (entry, isTold) = state.withLock { state in
                (state.drop(target, at: isRefusal ? 1 : 0), isRefusal || state.denied.remove(target) == nil)
            }
            if let entry { release([entry]) }
            return (isTold ? [event] : [], [])
        }
        if case .changed(let document, let targets, let removed) = event, targets.isEmpty {
            return ([try await gone(document, removed)], [])
        }
        let checked = state.withLock { $0.checkedCount == 0 && $0.denied.isEmpty ? nil : $0 }
        guard let checked else { return ([event], []) }
        switch event {
        case .current(let target, _, _) where checked.denied.contains(target): return ([], [])
        case .changed(let document, let targets, let removed):
            var refused: [Int32] = []
            for target in targets {
                guard !checked.denied.contains(target), let selection = checked.targets[target]?.first?.selection else {
                    continue
                }
                if try await !isAllowed(selection, document) { refused.append(target) }
            }
            let left = targets.filter { !refused.contains($0) && !checked.denied.contains($0) }
            state.withLock { state in
                state.denied.formUnion(refused)
            }
            let told: [ListenEvent] =
                if left.isEmpty {
                    removed.isEmpty ? [] : [try await gone(document, removed)]
                } else {
                    [.changed(document, targetIDs: left, removedTargetIDs: removed)]
                }
            return (told + refused.map { .removed(targetID: $0, cause: .permissionDenied) }, refused)
        default: return ([event], [])
        }
    }

    /// Of a document that has left its targets: with its content for those who may still read it.
    /// It may have left because it is somebody else's now.
    private func gone(_ document: EncodedDocument, _ removed: [Int32]) async throws -> ListenEvent {
        try await isAllowed(.documents([document.name]), document)
            ? .changed(document, targetIDs: [], removedTargetIDs: removed)
            : .left(document.name, readTime: document.updateTime, removedTargetIDs: removed)
    }

    private func isAllowed(
        _ selection: StoreListenTarget.Selection, _ document: EncodedDocument
    ) async throws -> Bool {
        do {
            switch selection {
            case .query(let query): try await access.check(watched: query, asOf: nil, in: store, by: caller)
            case .documents: try await access.check(get: [document.name], [document], in: store, by: caller)
            }
            return true
        } catch let error as DocumentStoreError where error == .permissionDenied {
            return false
        }
    }
}
