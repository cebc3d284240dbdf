public import DocumentModel

extension DocumentDatabase {
    /// Adds a document under a new id, and answers its name. It shows at once.
    @discardableResult public func add(
        _ fields: [String: Value], to collection: String, transforms: [FieldTransform] = []
    ) throws -> DocumentName {
        let name = try DocumentName(
            database: replica.databaseName, collection: collection, id: DocumentID.make(in: surroundings))
        try write([.create(name, fields, transforms: transforms)])
        return name
    }

    /// Makes the document exactly this.
    public func set(_ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []) throws {
        try write([.set(name, fields, transforms: transforms)])
    }

    /// Changes fields of a document, making it if there is none. A nil value removes the field.
    public func merge(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) throws {
        try write([.merge(name, changes, transforms: transforms)])
    }

    /// Changes fields of a document that exists. A nil value removes the field.
    ///
    /// - Throws: `DocumentClientError` with `notFound` if it is known not to exist.
    public func update(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) throws {
        try write([.update(name, changes, transforms: transforms)])
    }

    /// Deletes the document. If others edited it before the remote saw the delete, their edit survives.
    public func delete(_ name: DocumentName) throws { try write([.delete(name)]) }

    /// Adds the mutations in one transaction of the journal.
    ///
    /// - Parameter asOne: the remote applies all of them in one commit or none.
    public func write(_ mutations: [Mutation], asOne: Bool = false) throws {
        try checkOpen()
        try replica.append(mutations, asOne: asOne)
        published()
    }

    // MARK: What waits

    /// Returns when everything written before this call was ordered by the remote, or refused for good.
    public func waitForPendingWrites() async throws {
        try checkOpen()
        let position = replica.latestNumber
        if replica.journal.isSettled(through: position) { return }
        try await withCheckedThrowingContinuation { settleWaiters.append((position, $0)) }
    }

    /// The mutations that the remote has not ordered, oldest first.
    public func pendingMutations(limit: Int = .max, parkedOnly: Bool = false) throws -> [PendingMutation] {
        try checkOpen()
        return try replica.pending(limit: limit, parkedOnly: parkedOnly)
    }

    /// Sends a parked mutation again.
    public func retry(_ id: PendingMutation.ID) throws {
        try checkOpen()
        try replica.unpark(id)
        published()
    }

    /// Gives up a parked mutation; the document goes back to what the remote has.
    public func discard(_ id: PendingMutation.ID) throws {
        try checkOpen()
        try replica.discard(id)
        published()
    }
}
