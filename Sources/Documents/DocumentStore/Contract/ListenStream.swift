package import DocumentModel

/// A stream of listen targets, pulled by its consumer.
///
/// All targets move together: everything up to a boundary's time has been told for all of them, and a commit is never
/// split by a boundary. A consumer that does not pull costs bounded memory; it later catches up from the log.
package protocol ListenStream: Sendable {
    /// Adds a target. An id already in use, or a target that cannot be served, is answered by `.removed` with a cause.
    func add(_ target: ListenTarget) async

    /// Removes a target; answered by `.removed` without cause. An unknown id is ignored.
    func remove(_ targetID: Int32) async

    /// Waits for the next events; nil after `cancel()`. When nothing happens for a heartbeat's time, a boundary.
    func next() async throws -> [ListenEvent]?

    /// Ends the stream; a waiting `next()` answers nil.
    func cancel() async
}

/// What a stream listens to.
package struct ListenTarget: Sendable, Hashable {
    package enum Selection: Sendable, Hashable {
        case query(Query)
        case documents([DocumentName])
    }

    /// Where the client left off.
    package enum Resumption: Sendable, Hashable {
        /// A boundary's token. Empty counts as none.
        case token([UInt8])
        case readTime(Timestamp)
    }

    /// Chosen by the client, unique in the stream, not negative.
    package var id: Int32
    package var selection: Selection
    package var resumption: Resumption?
    /// With `resumption`: how many documents the client holds.
    package var expectedCount: Int32?
    /// Removes the target once it is current.
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
    /// About how many bytes the target takes in memory, apart from its documents.
    package var memoryCost: Int {
        switch selection {
        // One that is not valid is refused before it takes any.
        case .query(let query): (try? QueryPlan(query))?.memoryCost ?? 0
        case .documents(let names): names.reduce(0) { $0 + $1.path.utf8.count + 300 }
        }
    }
}
