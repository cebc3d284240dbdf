package import DocumentModel
package import FirestoreProtocol

/// The operations of a remote document database that a replica needs. Everything thrown is a
/// `RemoteError` or `CancellationError`.
package protocol RemoteDocuments: Sendable {
    /// Applies all writes in order, or none. After a transient error it is unknown whether they
    /// were applied.
    func commit(_ writes: [Write]) async throws -> CommitResult

    /// Returns a consistent view of the documents, in any order.
    func documents(_ names: [DocumentName]) async throws -> RemoteRead

    /// Returns the results in the query's order, none of them missing. `readTime` is the earliest time
    /// that the remote named for one of them.
    func results(of query: Query) async throws -> RemoteRead

    /// Returns values computed over the results of a query, by their aliases.
    func aggregates(_ aggregations: [Query.Aggregation], of query: Query) async throws -> [String: Value]

    /// Opens a stream for these targets.
    ///
    /// - Parameter seen: the newest commit that the remote is known to have had. Its lineage
    ///   depends on whether it still has it.
    func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen

    /// Lets the next call connect without waiting for the delay after an earlier failure.
    func networkChanged()
}

extension RemoteDocuments {
    package func networkChanged() {}

    /// Computes the values here, for remotes that have all documents at hand.
    package func aggregates(
        _ aggregations: [Query.Aggregation], of query: Query
    ) async throws -> [String: Value] {
        do {
            var aggregator = try Aggregator(aggregations, of: query)
            for document in try await results(of: aggregator.query).found where !aggregator.isComplete {
                aggregator.add(try Document(document))
            }
            return aggregator.results()
        } catch let error as QueryError {
            throw RemoteError(.invalid, error.message, cause: error)
        }
    }

    /// Reads documents by name; a failure is a result.
    nonisolated(nonsending) func read(_ names: [DocumentName]) async throws -> ReadOutcome {
        do {
            return .read(try await documents(names))
        } catch let error as RemoteError {
            return error.code.isTransient || error.code == .unauthenticated ? .later : .refused(error.code)
        } catch is CancellationError {
            return .later
        }
    }
}

/// The outcome of reading documents by name.
enum ReadOutcome {
    case read(RemoteRead)
    /// The remote does not answer now, or the task was cancelled.
    case later
    /// The remote does not show one of the documents at least.
    case refused(RemoteError.Code)

    /// The documents; nil if the remote does not show them.
    var answer: RemoteRead? { if case .read(let answer) = self { answer } else { nil } }
}

/// An open listen stream. One task at a time may read it while another one changes its targets.
/// Failures are reported to the reader.
package protocol RemoteListen: Sendable {
    /// Returns the next message; nil when the remote ended the stream. After `close` it throws or
    /// returns nil.
    nonisolated(nonsending) func next() async throws -> RemoteEvent?

    func add(_ target: RemoteTarget) async
    func remove(_ target: Int32) async
    func close()
}

/// Documents as they were at one time.
package struct RemoteRead: Sendable, Hashable {
    package var found: [EncodedDocument]
    package var missing: [DocumentName]
    package var readTime: Timestamp

    package init(found: [EncodedDocument], missing: [DocumentName], readTime: Timestamp) {
        self.found = found
        self.missing = missing
        self.readTime = readTime
    }
}

extension RemoteListen {
    /// Returns the events up to the next target change, so that a large result takes few turns of
    /// the client. A lineage event is returned alone. Returns nil at the end of the stream.
    func nextEvents() async throws -> [RemoteEvent]? {
        var events: [RemoteEvent] = []
        while events.count < 256, let event = try await next() {
            events.append(event)
            switch event {
            case .targetChange, .lineage: return events
            default: break
            }
        }
        return events.isEmpty ? nil : events
    }
}
