import DocumentModel
import DocumentStore
import FirestoreProtocol
import Synchronization

/// Applies the rules to the targets of a listen stream: when they are added, and again whenever a
/// change may have taken the right away.
///
/// The checks repeat because only the content of a document, or of its top-level document,
/// determines its owner.
final class ListenAccess: Sendable {
    private struct State {
        struct Entry {
            /// The selection to check at each change; nil if it is allowed whatever changes.
            let selection: StoreListenTarget.Selection?
            /// The bytes that the account is charged for the target.
            let bytes: Int
        }

        /// The target of each id, followed by later targets with the same id that the store has not
        /// refused yet.
        var targets: [Int32: [Entry]] = [:]
        /// The number of selections to check at each change.
        var checkedCount = 0
        /// Targets whose right was taken away. The client was notified, so the store's own event is
        /// not passed on.
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

    /// Adds a target.
    ///
    /// - Throws: `DocumentStoreError.permissionDenied`, or `.resourceExhausted` if the account
    ///   listens to too much.
    func add(_ target: StoreListenTarget) async throws {
        switch target.selection {
        case .query(let query):
            try await access.check(watched: query, asOf: nil, in: store, by: caller)
            try await checkResumption(of: target, query)
        // A stream of named documents reveals nothing of the time before.
        case .documents(let names):
            let documents = try await store.get(names, at: .strong).documents
            try await access.check(get: names, documents, in: store, by: caller)
        }
        guard caller != .administrator else { return }
        let needsChecks =
            switch target.selection {
            // A query that selects the caller's own documents by its filter stays allowed.
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

    /// Releases the charges of the account for the stream's targets.
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

    /// Checks that the caller may see the names of the query's results at the time from which the
    /// stream resumes, because the stream reports those that left the results.
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
            // The store cannot resume from that time. It sends all results again, or refuses the
            // target.
        }
    }

    /// Returns the events that the client may receive in place of an event, and the targets that
    /// must end. Their end is among the allowed events.
    func check(_ event: ListenEvent) async throws -> (allowed: [ListenEvent], denied: [Int32]) {
        if let allowed = allowedAtOnce(event) { return (allowed, []) }
        return try await checkDocument(of: event)
    }

    /// Returns what `check` does if that is known without the rules; nil otherwise.
    private func allowedAtOnce(_ event: ListenEvent) -> [ListenEvent]? {
        if case .removed(let target, let cause) = event {
            // The store refuses a second target with the same id, and the first one continues.
            let isRefusal = cause?.code == .alreadyExists
            let (entry, isTold) = state.withLock { state in
                (state.drop(target, at: isRefusal ? 1 : 0), isRefusal || state.denied.remove(target) == nil)
            }
            if let entry { release([entry]) }
            return isTold ? [event] : []
        }
        if case .changed(_, let targets, _) = event, targets.isEmpty { return nil }
        return state.withLock { $0.checkedCount == 0 && $0.denied.isEmpty } ? [event] : nil
    }

    /// Not inlined, because a task keeps the memory of its largest frame, which for this one is
    /// 29 KiB, and most streams never need it.
    @inline(never)
    private func checkDocument(of event: ListenEvent) async throws -> (allowed: [ListenEvent], denied: [Int32]) {
        if case .changed(let document, let targets, let removed) = event, targets.isEmpty {
            return ([try await gone(document, removed)], [])
        }
        let checked = state.withLock { $0 }
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

    /// Returns the event for a document that has left its targets: with its content if the caller
    /// may still read it, otherwise with its name only.
    ///
    /// The document may have left because it belongs to another user now.
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
