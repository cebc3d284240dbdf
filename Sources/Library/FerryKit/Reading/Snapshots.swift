import DocumentClient
import DocumentModel

/// What an app sees of a document or a query: the first value at once from this machine, then one
/// after each change, whether it was made here or elsewhere.
///
/// A slow reader receives fewer values, never outdated ones. Ending the loop, or cancelling its
/// task, ends the subscription.
public struct Snapshots<Element: Sendable>: AsyncSequence, Sendable {
    let makeSource: @Sendable () -> SnapshotSource<Element>

    init(_ makeSource: @escaping @Sendable () -> SnapshotSource<Element>) { self.makeSource = makeSource }

    /// Creates an iterator, which subscribes with its first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(source: makeSource()) }

    /// Iterates over the values.
    public struct Iterator: AsyncIteratorProtocol {
        let source: SnapshotSource<Element>

        /// Waits for the next value. Returns nil when the task is cancelled, the `Ferry` is closed,
        /// or the account is signed out.
        ///
        /// - Throws: `FerryError` if the server refuses the query.
        public mutating func next() async throws -> Element? { try await source.next() }
    }
}

/// Produces the values of one iterator.
class SnapshotSource<Element: Sendable> {
    func next() async throws -> Element? { nil }
}

/// The states of one document.
final class DocumentSource<Model: DocumentModel>: SnapshotSource<Document<Model>?> {
    private let reference: Reference<Model>
    private var snapshots: QuerySnapshots.Iterator?

    init(reference: Reference<Model>) { self.reference = reference }

    override func next() async throws -> Document<Model>?? {
        let ferry = try reference.ferry
        do {
            if snapshots == nil {
                let session = try ferry.session
                snapshots = session.client.snapshots(of: try session.name(reference.path)).makeAsyncIterator()
            }
            guard let snapshot = try await snapshots?.next() else { return nil }
            return .some(try snapshot.documents.first.flatMap { try Document($0, in: ferry) })
        } catch {
            throw FerryError.describing(error)
        }
    }
}

/// The results of a query.
final class QuerySource<Model: DocumentModel>: SnapshotSource<QuerySnapshot<Model>> {
    private let query: Query<Model>
    private var snapshots: QuerySnapshots.Iterator?
    private var results: QueryResults<Model>?

    init(query: Query<Model>) { self.query = query }

    override func next() async throws -> QuerySnapshot<Model>? {
        let ferry = try query.ferry
        do {
            if snapshots == nil {
                let session = try ferry.session
                snapshots = session.client.snapshots(of: try query.plan(in: session)).makeAsyncIterator()
            }
            guard let snapshot = try await snapshots?.next() else { return nil }
            var results = self.results ?? QueryResults(ferry: ferry, isReversed: query.isReversed)
            // Released, so that the change below does not copy the documents twice.
            self.results = nil
            defer { self.results = results }
            return results.updated(snapshot)
        } catch {
            throw FerryError.describing(error)
        }
    }
}

/// Successive pages of a query.
final class PageSource<Model: DocumentModel>: SnapshotSource<QuerySnapshot<Model>> {
    private var query: Query<Model>
    private let count: Int
    /// The number of results that the limit of the query leaves; nil without a limit.
    private var rest: Int?
    private var isAtEnd = false

    init(query: Query<Model>, count: Int) {
        self.query = query
        self.count = count
        rest = query.limitCount
    }

    override func next() async throws -> QuerySnapshot<Model>? {
        guard !isAtEnd else { return nil }
        guard !query.isReversed else {
            throw FerryError(.invalid, "A query with limit(toLast:) has no pages. Reverse its order, and use limit.")
        }
        let size = min(count, rest ?? count)
        let (page, found, last) = try await query.limit(size).read(.serverElseCache)
        rest = rest.map { $0 - found }
        isAtEnd = found < size || rest == 0
        guard let last else { return nil }
        query = query.start(after: last)
        return page
    }
}
