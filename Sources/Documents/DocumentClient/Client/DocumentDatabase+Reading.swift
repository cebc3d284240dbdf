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
        return try replica.results(of: plan(query))
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
            if areOptional { optionalTargets.insert(target.id) }
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
        let parent = name.parent.map { ParentName($0) } ?? ParentName(name.database)
        let isIt = Query.Filter.field(.documentName, .equal, .reference(name.description))
        return snapshots(of: Query(parent: parent, collectionID: name.collectionID, filter: isIt), from: source)
    }

    private func plan(_ query: Query) throws -> QueryPlan {
        guard query.parent.database == replica.databaseName else {
            throw DocumentClientError(
                .invalid, "The query is about \(query.parent.database), this client about \(replica.databaseName).")
        }
        do {
            return try QueryPlan(query)
        } catch {
            throw DocumentClientError(.invalid, error.message, cause: error)
        }
    }

    // MARK: Subscriptions

    enum NextSnapshot: Sendable {
        case snapshot(QuerySnapshot)
        case nothingYet
        case closed
    }

    private func subscribe(_ query: Query, _ source: Source) async throws -> QuerySubscription {
        try checkOpen()
        let plan = try plan(query)
        var target: Int32?
        if source == .watched {
            let watched = try replica.target(for: query)
            target = watched.id
            try await use(watched)
        }
        let id = nextListener
        nextListener += 1
        let wakeup = AsyncSignal()
        listeners[id] = QueryListener(plan: plan, target: target, wakeup: wakeup)
        return QuerySubscription(client: self, id: id, wakeup: wakeup)
    }

    func unsubscribe(_ id: Int) async {
        guard let listener = listeners.removeValue(forKey: id), let target = listener.target else { return }
        try? await disuse(target)
        updateStatus()
    }

    func nextSnapshot(_ id: Int) throws -> NextSnapshot {
        guard !isClosed, var listener = listeners[id] else { return .closed }
        let isFromCache = !(listener.target.map(currentTargets.contains) ?? false)
        let next = try listener.next(from: replica, isFromCache: isFromCache)
        listeners[id] = listener
        return next.map { .snapshot($0) } ?? .nothingYet
    }

    // MARK: Targets

    private func use(_ target: RemoteTarget) async throws {
        targetUses[target.id, default: 0] += 1
        guard targetUses[target.id] == 1 else { return }
        listenWakeup.set()
        try await perform(session.add(target))
    }

    private func disuse(_ target: Int32) async throws {
        guard let uses = targetUses[target] else { return }
        guard uses <= 1 else {
            targetUses[target] = uses - 1
            return
        }
        targetUses[target] = nil
        optionalTargets.remove(target)
        refusedOptionalTargets.remove(target)
        try await perform(session.remove(target))
        if !session.isWanted { stream?.close() }
    }
}
