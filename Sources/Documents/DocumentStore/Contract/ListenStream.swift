package import DocumentModel

/// A stream of listen targets, from which the consumer pulls events.
///
/// All targets advance together: everything up to a boundary's time has been reported for all of
/// them, and a boundary never splits a commit. A consumer that does not pull uses bounded memory;
/// it later catches up from the log.
package protocol ListenStream: Sendable {
    /// Adds a target. If its id is already in use, or it cannot be served, the stream delivers
    /// `.removed` with a cause.
    func add(_ target: ListenTarget) async

    /// Removes a target, for which the stream delivers `.removed` without a cause. An unknown id is
    /// ignored.
    func remove(_ targetID: Int32) async

    /// Waits for the next events; nil after `cancel()`. If nothing happens for the duration of a
    /// heartbeat, returns a boundary.
    func next() async throws -> [ListenEvent]?

    /// Ends the stream. A waiting `next()` returns nil.
    func cancel() async
}

/// A query or set of documents that a stream listens to.
package struct ListenTarget: Sendable, Hashable {
    package enum Selection: Sendable, Hashable {
        case query(Query)
        case documents([DocumentName])
    }

    /// The position from which a client resumes.
    package enum Resumption: Sendable, Hashable {
        /// The token of a boundary. An empty token counts as absent.
        case token([UInt8])
        case readTime(Timestamp)
    }

    /// The id chosen by the client: unique in the stream and not negative.
    package var id: Int32
    package var selection: Selection
    package var resumption: Resumption?
    /// The number of documents that the client has. Used only with `resumption`.
    package var expectedCount: Int32?
    /// Whether the target is removed once it is current.
    package var once: Bool

    package init(
        id: Int32, selection: Selection, resumption: Resumption? = nil, expectedCount: Int32? = nil, once: Bool = false
    ) {
        self.id = id
        self.selection = selection
        self.resumption = resumption
        self.expectedCount = expectedCount
        self.once = once
    }
}

extension ListenTarget {
    /// The approximate number of bytes that the target takes in memory, without its documents.
    package var memoryCost: Int {
        switch selection {
        // An invalid query is refused before it takes any memory.
        case .query(let query): (try? QueryPlan(query))?.memoryCost ?? 0
        case .documents(let names): names.reduce(0) { $0 + $1.path.utf8.count + 300 }
        }
    }
}
