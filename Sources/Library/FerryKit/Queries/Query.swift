import DocumentClient
import DocumentCoding
import DocumentModel

/// A query for documents of one model.
///
/// A query is a value, which each method extends. A mistake that the compiler cannot see, such as a
/// key path that is no field, is reported when the query is read.
public struct Query<Model: DocumentModel>: Sendable {
    enum Place: Sendable {
        /// The collection with this path.
        case collection(String)
        /// All collections of the model, wherever they are.
        case group
    }

    private enum Bound: Sendable {
        case values(Result<[Value], any Error>)
        case document(fields: [String: Value], path: String)

        var isDocument: Bool { if case .document = self { true } else { false } }
    }

    private let owner: Ferry?
    private let place: Place
    private var filters: [Result<DatabaseQuery.Filter, any Error>] = []
    private var orders: [(path: Result<FieldPath, any Error>, descending: Bool)] = []
    private var start: (bound: Bound, before: Bool)?
    private var end: (bound: Bound, before: Bool)?
    private(set) var limitCount: Int?
    /// Whether the last results up to the limit are wanted, which are those of the reversed query.
    private(set) var isReversed = false

    init(owner: Ferry?, place: Place) {
        self.owner = owner
        self.place = place
    }

    var ferry: Ferry {
        get throws {
            guard let owner else { throw FerryError(.invalid, "The query belongs to no Ferry.") }
            return owner
        }
    }

    private func with(_ change: (inout Query) -> Void) -> Query {
        var copy = self
        change(&copy)
        return copy
    }

    // MARK: Building

    /// Adds a condition, which holds together with those before.
    public func `where`(_ condition: (Fields<Model>) -> Condition<Model>) -> Query {
        let condition = condition(Fields())
        return with { $0.filters.append(condition.filter) }
    }

    /// Orders the results by a field. Documents without it are no results. Further calls order
    /// those that are equal.
    public func order<Content>(
        by field: any KeyPath<Model, Content> & Sendable, descending: Bool = false
    ) -> Query {
        with { $0.orders.append((Result { try FieldNames.path(of: field) }, descending)) }
    }

    /// Returns at most the first `count` results.
    public func limit(_ count: Int) -> Query {
        with {
            $0.limitCount = count
            $0.isReversed = false
        }
    }

    /// Returns at most the last `count` results, in the same order.
    public func limit(toLast count: Int) -> Query {
        with {
            $0.limitCount = count
            $0.isReversed = true
        }
    }

    /// Starts the results after a document that need not fit the model.
    func start(after document: DocumentSnapshot) -> Query {
        with { $0.start = (.document(fields: document.fields, path: document.name.path), false) }
    }

    func limited(to count: Int) -> Query { with { $0.limitCount = count } }

    /// Starts the results at a document.
    public func start(at document: Document<Model>) -> Query { with { $0.start = (Self.bound(document), true) } }

    /// Starts the results after a document.
    public func start(after document: Document<Model>) -> Query { with { $0.start = (Self.bound(document), false) } }

    /// Ends the results at a document.
    public func end(at document: Document<Model>) -> Query { with { $0.end = (Self.bound(document), false) } }

    /// Ends the results before a document.
    public func end(before document: Document<Model>) -> Query { with { $0.end = (Self.bound(document), true) } }

    /// Starts the results at values of the fields by which they are ordered.
    public func start<each Content: Encodable & Sendable>(at values: repeat each Content) -> Query {
        let bound = Self.bound(repeat each values)
        return with { $0.start = (bound, true) }
    }

    /// Starts the results after values of the fields by which they are ordered.
    public func start<each Content: Encodable & Sendable>(after values: repeat each Content) -> Query {
        let bound = Self.bound(repeat each values)
        return with { $0.start = (bound, false) }
    }

    /// Ends the results at values of the fields by which they are ordered.
    public func end<each Content: Encodable & Sendable>(at values: repeat each Content) -> Query {
        let bound = Self.bound(repeat each values)
        return with { $0.end = (bound, false) }
    }

    /// Ends the results before values of the fields by which they are ordered.
    public func end<each Content: Encodable & Sendable>(before values: repeat each Content) -> Query {
        let bound = Self.bound(repeat each values)
        return with { $0.end = (bound, true) }
    }

    private static func bound(_ document: Document<Model>) -> Bound {
        .document(fields: document.fields, path: document.reference.path)
    }

    private static func bound<each Content: Encodable & Sendable>(_ values: repeat each Content) -> Bound {
        let values = Result<[Value], any Error> {
            var encoded: [Value] = []
            for value in repeat each values {
                guard case .value(let value)? = try DocumentEncoder().encode(value: value) else {
                    throw FerryError(.invalid, "A query cannot start or end at nil or at a pending time.")
                }
                encoded.append(value)
            }
            return encoded
        }
        return .values(values)
    }

    // MARK: Reading

    /// Returns the results once.
    ///
    /// - Throws: `FerryError`.
    public func get(_ source: Source = .cacheElseServer) async throws -> QuerySnapshot<Model> {
        try await read(source).results
    }

    /// Returns the results once, and the number and the last of the documents that were read, also of
    /// those that do not fit the model.
    func read(
        _ source: Source
    ) async throws -> (results: QuerySnapshot<Model>, count: Int, last: DocumentSnapshot?) {
        let ferry = try ferry
        return try await FerryError.translating {
            let session = try ferry.session
            let (documents, isFromCache) = try await session.documents(try plan(in: session), source)
            var results = QueryResults<Model>(ferry: ferry, isReversed: isReversed)
            return (results.read(documents, isFromCache: isFromCache), documents.count, documents.last)
        }
    }

    /// The results now, and again whenever they change.
    public var snapshots: Snapshots<QuerySnapshot<Model>> { Snapshots { QuerySource(query: self) } }

    /// Returns the results in pages, each of which is read when it is asked for. The query cannot have
    /// `limit(toLast:)`.
    public func pages(of count: Int) -> Snapshots<QuerySnapshot<Model>> {
        Snapshots { PageSource(query: self, count: count) }
    }

    /// Returns the number of results. The server counts; local changes that it does not have are
    /// not counted.
    public func count() async throws -> Int {
        let value = try await aggregate { _ in .count(upTo: nil) }
        return value.integerValue.flatMap { Int(exactly: $0) } ?? 0
    }

    /// Returns the sum of a field over the results. Documents without a number in it are left out.
    public func sum<Number: Numeric & Decodable>(
        _ field: any KeyPath<Model, Number> & Sendable
    ) async throws -> Number {
        let value = try await aggregate { _ in .sum(try FieldNames.path(of: field)) }
        return try DocumentDecoder().decode(Number.self, from: value)
    }

    /// Returns the average of a field over the results; nil if no document has a number in it.
    public func average<Number: Numeric>(
        _ field: any KeyPath<Model, Number> & Sendable
    ) async throws -> Double? {
        let value = try await aggregate { _ in .average(try FieldNames.path(of: field)) }
        return value == .null ? nil : try DocumentDecoder().decode(Double.self, from: value)
    }

    private func aggregate(
        _ operation: (Session) throws -> DatabaseQuery.Aggregation.Operation
    ) async throws -> Value {
        let ferry = try ferry
        return try await FerryError.translating {
            let session = try ferry.session
            let aggregation = DatabaseQuery.Aggregation(alias: "value", try operation(session))
            let values = try await session.reader.aggregates([aggregation], of: try plan(in: session))
            return values["value"] ?? .null
        }
    }

    // MARK: The query as the database has it

    func plan(in session: Session) throws -> DatabaseQuery {
        var query = DatabaseQuery(parent: ParentName(session.database), collectionID: Model.collection)
        switch place {
        case .group: query.allDescendants = true
        case .collection(let path):
            let parts = path.split(separator: "/")
            if parts.count > 1 {
                query.parent = ParentName(try session.name(parts.dropLast().joined(separator: "/")))
            }
        }
        let filters = try filters.map { try $0.get() }
        query.filter = filters.count > 1 ? .and(filters) : filters.first
        query.orders = try orders.map { .init(try $0.path.get(), descending: $0.descending) }
        if isReversed || start.map(\.bound.isDocument) == true || end.map(\.bound.isDocument) == true {
            // A document is a position only in a complete order, and only a complete order can be
            // reversed.
            do { query.orders = try QueryPlan(query).orders } catch {
                throw FerryError(.invalid, error.message, cause: error)
            }
        }
        query.start = try start.map { .init(try values($0.bound, query, session), before: $0.before) }
        query.end = try end.map { .init(try values($0.bound, query, session), before: $0.before) }
        if let limitCount {
            guard let limit = Int32(exactly: limitCount), limit >= 0 else {
                throw FerryError(.invalid, "The limit of a query is a number from 0 to \(Int32.max).")
            }
            query.limit = limit
        }
        if isReversed {
            query.orders = query.orders.map { .init($0.path, descending: !$0.descending) }
            (query.start, query.end) = (
                query.end.map { .init($0.values, before: !$0.before) },
                query.start.map { .init($0.values, before: !$0.before) }
            )
        }
        return query
    }

    private func values(_ bound: Bound, _ query: DatabaseQuery, _ session: Session) throws -> [Value] {
        switch bound {
        case .values(let values): return try values.get()
        case .document(let fields, let path):
            return try query.orders.map { order in
                if order.path.isDocumentName { return .reference(try session.name(path).description) }
                guard let value = fields.value(at: order.path.segments[...]) else {
                    throw FerryError(.invalid, "The document \(path) lacks the field \(order.path) of the order.")
                }
                return value
            }
        }
    }
}
