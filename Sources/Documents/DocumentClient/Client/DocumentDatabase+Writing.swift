public import DocumentModel

extension DocumentDatabase {
    /// Adds a document under a new id, and answers its name. It shows at once.
    @discardableResult public func add(
        _ fields: [String: Value], to collection: String, transforms: [FieldTransform] = []
    ) throws -> DocumentName {
        let name = try DocumentName(
            database: replica.databaseName, collection: collection, id: DocumentID.make(in: environment))
        try write([.create(name, fields, transforms: transforms)])
        return name
    }

    /// Replaces the content of the document, and creates it if it does not exist.
    @discardableResult public func set(
        _ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []
    ) throws -> WriteHandle {
        try write([.set(name, fields, transforms: transforms)])
    }

    /// Changes fields of a document, and creates it if it does not exist. A nil value removes the
    /// field.
    @discardableResult public func merge(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) throws -> WriteHandle {
        try write([.merge(name, changes, transforms: transforms)])
    }

    /// Changes fields of an existing document. A nil value removes the field.
    ///
    /// - Throws: `DocumentClientError` with `notFound` if the document is known not to exist.
    @discardableResult public func update(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) throws -> WriteHandle {
        try write([.update(name, changes, transforms: transforms)])
    }

    /// Deletes the document. An edit that others committed before the remote received the delete is
    /// kept.
    @discardableResult public func delete(_ name: DocumentName) throws -> WriteHandle { try write([.delete(name)]) }

    /// Adds mutations to the journal in one transaction.
    ///
    /// - Parameter asOne: whether the remote must apply all of them in one commit or none.
    /// - Returns: A handle with which the remote's decision can be awaited.
    @discardableResult public func write(_ mutations: [Mutation], asOne: Bool = false) throws -> WriteHandle {
        try write(mutations, edits: [], asOne: asOne)
    }

    /// Adds edits of whole documents to the journal in one transaction, together with other
    /// mutations. If a document has changed since an edit began, both are merged by the
    /// collection's policy.
    package func write(
        _ mutations: [Mutation], edits: [DocumentEdit], asOne: Bool = false
    ) throws -> WriteHandle {
        try checkOpen()
        let tracker = observers.track(try replica.append(mutations, edits: edits, asOne: asOne))
        published()
        return WriteHandle(tracker: tracker)
    }

    // MARK: Pending mutations

    /// Returns when everything written before this call was committed by the remote or rejected.
    public func waitForPendingWrites() async throws {
        try checkOpen()
        let position = replica.file.latestNumber
        if replica.journal.isSettled(through: position) { return }
        try await withCheckedThrowingContinuation { observers.addSettleWaiter(position, $0) }
    }

    /// Returns the mutations that the remote has not committed, oldest first.
    public func pendingMutations(limit: Int = .max, parkedOnly: Bool = false) throws -> [PendingMutation] {
        try checkOpen()
        return try replica.reader.pending(limit: limit, parkedOnly: parkedOnly)
    }

    /// Sends a rejected mutation again.
    public func retry(_ id: PendingMutation.ID) throws {
        try checkOpen()
        try replica.file.unpark(id)
        published()
    }

    /// Discards a rejected mutation. The document reverts to the remote's version.
    public func discard(_ id: PendingMutation.ID) throws {
        try checkOpen()
        try replica.file.discard(id)
        published()
    }
}
