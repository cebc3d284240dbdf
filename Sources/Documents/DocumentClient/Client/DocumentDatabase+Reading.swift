public import DocumentModel
import SystemIO

extension DocumentDatabase {
    /// The origin of a query's results.
    public enum Source: Sendable, Hashable {
        /// This replica, kept up to date by the remote while there are listeners.
        case watched
        /// This replica only.
        case cache
    }

    /// Returns the document as this replica has it.
    public func document(_ name: DocumentName) throws -> DocumentSnapshot {
        try checkOpen()
        return try replica.snapshot(name)
    }

    /// Returns the documents of this replica that match a query.
    public func documents(_ query: Query) throws -> [DocumentSnapshot] {
        try checkOpen()
        return try replica.reader.results(of: plan(query))
    }

    /// Keeps the results of these queries in this replica and up to date from now on, until `run`
    /// ends.
    ///
    /// - Parameter areOptional: whether the client counts as current without the queries that the
    ///   remote refuses to watch. They are requested again with each new connection.
    public func keep(_ queries: [Query], areOptional: Bool = false) async throws {
        try checkOpen()
        for query in queries {
            _ = try plan(query)
            let target = try replica.target(for: query)
            if areOptional { watched.setOptional(target.id) }
            try await use(target)
        }
        updateStatus()
    }

    /// Stops keeping queries; see `keep`.
    public func release(_ queries: [Query]) async throws {
        for query in queries {
            status.refusedOptionalQueries[query] = nil
            try await disuse(try replica.target(for: query).id)
        }
        updateStatus()
    }

    /// Returns the snapshots of a query.
    public nonisolated func snapshots(of query: Query, from source: Source = .watched) -> QuerySnapshots {
        QuerySnapshots { try await self.subscribe(query, source) }
    }

    /// Returns the snapshots of one document, each of which contains the document or is empty.
    public nonisolated func snapshots(of name: DocumentName, from source: Source = .watched) -> QuerySnapshots {
        snapshots(of: Query(document: name), from: source)
    }

    func plan(_ query: Query) throws -> QueryPlan {
        try QueryPlan(query, in: replica.databaseName)
    }

    // MARK: Subscriptions

    private func subscribe(_ query: Query, _ source: Source) async throws -> QuerySubscription {
        try checkOpen()
        let plan = try plan(query)
        var target: Int32?
        if source == .watched {
            let watched = try replica.target(for: query)
            target = watched.id
            try await use(watched)
        }
        let (id, wakeup) = observers.addListener(plan, target: target)
        return QuerySubscription(client: self, id: id, wakeup: wakeup)
    }

    func unsubscribe(_ id: Int) async {
        guard let target = observers.removeListener(id) else { return }
        try? await disuse(target)
        updateStatus()
    }

    func nextSnapshot(_ id: Int) throws -> NextSnapshot {
        guard !isClosed else { return .closed }
        return try observers.nextSnapshot(id, from: replica, currentTargets: watched.current)
    }

    // MARK: Targets

    private func use(_ target: RemoteTarget) async throws {
        guard watched.use(target.id) else { return }
        listenWakeup.set()
        try await perform(session.add(target))
    }

    private func disuse(_ target: Int32) async throws {
        guard watched.disuse(target) else { return }
        try await perform(session.remove(target))
        if !session.isWanted { stream?.close() }
    }
}

extension QueryPlan {
    /// Creates the plan of a query that must be of this database.
    ///
    /// - Throws: `DocumentClientError` with `invalid`.
    fileprivate init(_ query: Query, in database: DatabaseName) throws(DocumentClientError) {
        guard query.parent.database == database else {
            throw DocumentClientError(
                .invalid, "The query is about \(query.parent.database), this client about \(database).")
        }
        do {
            self = try QueryPlan(query)
        } catch {
            throw DocumentClientError(.invalid, error.message, cause: error)
        }
    }
}
