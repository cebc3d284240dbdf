import DocumentModel
import DocumentStore
import FirestoreProtocol
import GRPCProtocol
import GRPCServer
import SystemIO

extension FirestoreService {
    /// Handles a Listen stream, in which requests add and remove targets while events are sent.
    func listen(_ call: GRPCServerCall) async throws {
        let caller = try authenticator.admit(call)
        guard let first = try await call.next() else { return }
        let named = try await usage.decoding(first, for: caller) { (opening: ListenRequest) in opening.database }
        guard let database = named else {
            throw DocumentStoreError(.invalidArgument, "The first request of a listen stream must name the database.")
        }
        let store = try await catalog.store(database)
        try usage.take(.listenStreams, for: caller)
        defer { usage.release(.listenStreams, for: caller) }
        let seen = call.metadata[ListenMetadata.seen].flatMap(Int64.init).map(Timestamp.init(microseconds:))
        try await call.sendHeaders([ListenMetadata.lineage: try await store.lineage(having: seen)])
        let stream = store.listen(for: caller.account)
        let targets = ListenAccess(access: access, usage: usage, store: store, caller: caller)
        defer { targets.releaseAll() }
        await watch.run(
            call, of: caller,
            [
                { try await receive(first, database, targets, stream, caller, call) },
                { try await send(stream, targets, call) },
            ], status: status(of:), onEnd: { await stream.cancel() })
    }

    /// Handles the requests of a stream.
    private func receive(
        _ first: [UInt8], _ database: DatabaseName, _ targets: ListenAccess, _ stream: any ListenStream,
        _ caller: Caller, _ call: GRPCServerCall
    ) async throws {
        var next: [UInt8]? = first
        var numbers = TargetNumbers()
        while let bytes = next {
            try await usage.decoding(bytes, for: caller) {
                try await accept($0, &numbers, database, targets, stream, call)
            }
            next = try await call.next()
        }
    }

    /// Sends the events of a stream.
    private func send(_ stream: any ListenStream, _ targets: ListenAccess, _ call: GRPCServerCall) async throws {
        while let events = try await stream.next() {
            for event in events {
                let (allowed, denied) = try await targets.check(event)
                // End denied targets first, so that the client cannot reuse an id before its target
                // has ended.
                for target in denied { await stream.remove(target) }
                for event in allowed { try await call.send(ListenResponse(event).encoded()) }
            }
        }
    }

    private func accept(
        _ request: ListenRequest, _ numbers: inout TargetNumbers, _ database: DatabaseName, _ targets: ListenAccess,
        _ stream: any ListenStream, _ call: GRPCServerCall
    ) async throws {
        switch request.change {
        case .add(var target)?:
            target.id = try numbers.number(target.id)
            do {
                let target = try StoreListenTarget(target, in: database)
                try await targets.add(target)
                await stream.add(target)
            } catch let error as DocumentStoreError {
                try await refuse(target.id, error, call)
            }
        case .remove(let id)?: await stream.remove(id)
        case nil: break
        }
    }

    private func refuse(_ target: Int32, _ error: DocumentStoreError, _ call: GRPCServerCall) async throws {
        let add = TargetChange(kind: .add, targetIDs: [target])
        try await call.send(ListenResponse.targetChange(add).encoded())
        noteCause(of: error)
        let remove = TargetChange(kind: .remove, targetIDs: [target], cause: RPCStatus(error))
        try await call.send(ListenResponse.targetChange(remove).encoded())
    }
}

/// The ids of a stream's targets. The client chooses all of them, or sends 0 to let the server
/// choose all of them.
private struct TargetNumbers {
    private var last: Int32 = 0

    mutating func number(_ wanted: Int32) throws(DocumentStoreError) -> Int32 {
        guard wanted >= 0 else {
            throw DocumentStoreError(.invalidArgument, "Target ID must not be negative: \(wanted)")
        }
        guard wanted == 0 else {
            guard last == 0 else {
                throw DocumentStoreError(
                    .invalidArgument, "Target ID \(wanted) is the client's choice, but earlier ones were the server's.")
            }
            return wanted
        }
        guard last < .max else { throw DocumentStoreError(.resourceExhausted, "The stream is out of target IDs.") }
        last += 1
        return last
    }
}

extension ListenResponse {
    init(_ event: ListenEvent) {
        self =
            switch event {
            case .added(let target): .targetChange(TargetChange(kind: .add, targetIDs: [target]))
            case .removed(let target, let cause):
                .targetChange(
                    TargetChange(
                        kind: .remove, targetIDs: [target],
                        cause: cause.map { RPCStatus($0) }))
            case .current(let target, let time, let token):
                .targetChange(TargetChange(kind: .current, targetIDs: [target], resumeToken: token, readTime: time))
            case .reset(let target): .targetChange(TargetChange(kind: .reset, targetIDs: [target]))
            case .boundary(let time, let token): .targetChange(TargetChange(resumeToken: token, readTime: time))
            case .changed(let document, let targets, let removed):
                .documentChange(DocumentChange(document: document, targetIDs: targets, removedTargetIDs: removed))
            case .left(let name, let time, let removed):
                .documentRemove(DocumentRemove(document: name, removedTargetIDs: removed, readTime: time))
            case .deleted(let name, let time, let removed):
                .documentDelete(DocumentDelete(document: name, removedTargetIDs: removed, readTime: time))
            case .existenceFilter(let target, let count, let unchanged):
                .filter(
                    ExistenceFilter(
                        targetID: target, count: count, unchangedNames: unchanged.map { BloomFilter(of: $0) }))
            }
    }
}

extension StoreListenTarget {
    /// Creates what the store is to listen to for a target of a stream.
    init(_ target: FirestoreProtocol.ListenTarget, in database: DatabaseName) throws {
        let selection: StoreListenTarget.Selection
        switch target.content {
        case .query(let query):
            guard query.parent.database == database else {
                throw DocumentStoreError(.invalidArgument, "The target is of another database than the stream.")
            }
            selection = .query(query)
        case .documents(let names):
            guard names.allSatisfy({ $0.database == database }) else {
                throw DocumentStoreError(.invalidArgument, "The target is of another database than the stream.")
            }
            selection = .documents(names)
        case .invalid(let error): throw DocumentStoreError(.invalidArgument, error.description)
        }
        let resumption: StoreListenTarget.Resumption? =
            switch target.resume {
            case .token(let token)?: token.isEmpty ? nil : .token(token)
            case .readTime(let time)?: .readTime(time)
            case nil: nil
            }
        self.init(
            id: target.id, selection: selection, resumption: resumption, expectedCount: target.expectedCount,
            once: target.once)
    }
}
