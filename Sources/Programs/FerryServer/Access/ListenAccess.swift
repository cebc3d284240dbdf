import DocumentModel
import DocumentStore
import FirestoreProtocol
import Synchronization

/// Applies the rules to the targets of one listen stream, when they are added and again where a change may have taken the
/// right away: whose a document is, or the one above it, is known from its content only.
final class ListenAccess: Sendable {
    private struct State {
        /// What must be checked at each change.
        var selections: [Int32: StoreListenTarget.Selection] = [:]
        /// Targets that were refused after the fact; the client knows, the store's own word of it is not passed on.
        var denied = Set<Int32>()
    }

    private let access: DocumentAccess
    private let store: any DocumentStore
    private let caller: Caller
    private let state = Mutex(State())

    init(access: DocumentAccess, store: any DocumentStore, caller: Caller) {
        self.access = access
        self.store = store
        self.caller = caller
    }

    /// - Throws: `DocumentStoreError.permissionDenied`.
    func add(_ target: StoreListenTarget) async throws {
        switch target.selection {
        case .query(let query):
            try await access.check(list: query, in: store, by: caller)
            // A query for what is the caller's own by its filter stays allowed.
            if query.parent.path.isEmpty { return }
        case .documents(let names):
            let documents = try await store.get(names, at: .strong).documents
            try await access.check(get: names, documents, in: store, by: caller)
        }
        guard caller != .administrator else { return }
        state.withLock { $0.selections[target.id] = target.selection }
    }

    /// What the client may be told of an event, and the targets that must end, of which `allowed` tells it.
    func check(_ event: ListenEvent) async throws -> (allowed: [ListenEvent], denied: [Int32]) {
        let checked = state.withLock { $0.selections.isEmpty && $0.denied.isEmpty ? nil : $0 }
        guard let checked else { return ([event], []) }
        switch event {
        case .removed(let target, _):
            return state.withLock { state in
                state.selections[target] = nil
                return (state.denied.remove(target) == nil ? [event] : [], [])
            }
        case .current(let target, _, _) where checked.denied.contains(target): return ([], [])
        case .changed(let document, let targets, let removed):
            var refused: [Int32] = []
            for target in targets {
                guard !checked.denied.contains(target), let selection = checked.selections[target] else { continue }
                if try await !isAllowed(selection, document) { refused.append(target) }
            }
            let left = targets.filter { !refused.contains($0) && !checked.denied.contains($0) }
            state.withLock { state in
                for target in refused {
                    state.denied.insert(target)
                    state.selections[target] = nil
                }
            }
            let told: [ListenEvent] =
                left.isEmpty && removed.isEmpty
                ? [] : [.changed(document, targetIDs: left, removedTargetIDs: removed)]
            return (told + refused.map { .removed(targetID: $0, cause: .permissionDenied) }, refused)
        default: return ([event], [])
        }
    }

    private func isAllowed(
        _ selection: StoreListenTarget.Selection, _ document: EncodedDocument
    ) async throws -> Bool {
        do {
            switch selection {
            case .query(let query): try await access.check(list: query, in: store, by: caller)
            case .documents: try await access.check(get: [document.name], [document], in: store, by: caller)
            }
            return true
        } catch let error as DocumentStoreError where error == .permissionDenied {
            return false
        }
    }
}
