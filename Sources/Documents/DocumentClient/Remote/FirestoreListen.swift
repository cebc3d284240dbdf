import DocumentModel
import FirestoreProtocol
import GRPCClient
import GRPCProtocol
import Synchronization

/// A Listen call.
final class FirestoreListen: RemoteListen {
    private let call: GRPCClientCall
    private let database: DatabaseName

    /// Notified of the first message (nil) and of the status that ends the call. Returns the error
    /// to throw.
    private let note: @Sendable (GRPCStatus?) -> RemoteError
    private let hasStarted = Mutex(false)
    private let hasAnswered = Mutex(false)

    init(call: GRPCClientCall, database: DatabaseName, note: @escaping @Sendable (GRPCStatus?) -> RemoteError) {
        self.call = call
        self.database = database
        self.note = note
    }

    nonisolated(nonsending) func next() async throws -> RemoteEvent? {
        do {
            if !hasAnswered.withLock({ $0 }) {
                let lineage = await call.headers()[ListenMetadata.lineage]
                hasAnswered.withLock { $0 = true }
                if let lineage { return .lineage(lineage) }
            }
            while let message = try await call.next() {
                let isFirst = hasStarted.withLock { started in
                    defer { started = true }
                    return !started
                }
                if isFirst { _ = note(nil) }
                if let event = try RemoteEvent(ListenResponse(decoding: message)) { return event }
            }
            return nil
        } catch let status as GRPCStatus {
            try Task.checkCancellation()
            throw note(status)
        } catch let error as ProtocolError {
            throw RemoteError(.transient, "Listen: a message cannot be read: \(error)", cause: error)
        }
    }

    func add(_ target: RemoteTarget) async {
        let resume: ListenTarget.Resume? = target.resumeToken.isEmpty ? nil : .token(target.resumeToken)
        // A document is watched by its name, because rules that allow to get it need not allow a query.
        let content: ListenTarget.Content = target.query.soleDocument.map { .documents([$0]) } ?? .query(target.query)
        await send(.add(ListenTarget(content, id: target.id, resume: resume)))
    }

    func remove(_ target: Int32) async { await send(.remove(target)) }

    private func send(_ change: ListenRequest.Change) async {
        // Sending fails too if the call has ended; the reader reports the reason.
        try? await call.send(ListenRequest(database: database, change: change).encoded())
    }

    func close() { call.cancel() }
}

extension RemoteEvent {
    /// Creates an event from a message; nil for messages of newer servers that this client need not
    /// understand.
    init?(_ response: ListenResponse) {
        switch response {
        case .targetChange(let change):
            let kind: TargetChange.Kind
            switch change.kind {
            case .noChange: kind = .noChange
            case .add: kind = .added
            case .remove: kind = .removed
            case .current: kind = .current
            case .reset: kind = .reset
            case .unrecognized: return nil
            }
            self = .targetChange(
                TargetChange(
                    kind, targetIDs: change.targetIDs, cause: change.cause.map { RemoteError($0) },
                    resumeToken: change.resumeToken, readTime: change.readTime))
        case .documentChange(let change):
            self = .changed(change.document, added: change.targetIDs, removed: change.removedTargetIDs)
        case .documentDelete(let delete):
            self = .deleted(delete.document, removed: delete.removedTargetIDs, readTime: delete.readTime)
        case .documentRemove(let remove): self = .left(remove.document, removed: remove.removedTargetIDs)
        case .filter(let filter): self = .filter(target: filter.targetID, count: filter.count)
        case .unrecognized: return nil
        }
    }
}
