package import DocumentModel

/// A request that rules decide about.
package struct RulesRequest: Sendable {
    /// The kind of request.
    package var method: RulesMethod
    /// The database of the request.
    package var database: DatabaseName
    /// The path of the document below the database. For `list`, that of a document in the
    /// collection; its last segment does not count.
    package var path: String
    /// The account that makes the request; nil for none.
    package var authentication: RulesAuthentication?
    /// The time of the request.
    package var time: Timestamp
    /// The document before the request; nil if it does not exist.
    package var before: Document?
    /// The document that a `create` or `update` makes.
    package var after: Document?
    /// The query of a `list`.
    package var query: Query?

    /// Creates a request about one document.
    package init(
        _ method: RulesMethod, _ name: DocumentName, by authentication: RulesAuthentication?, at time: Timestamp,
        before: Document? = nil, after: Document? = nil
    ) {
        self.method = method
        database = name.database
        path = name.path
        self.authentication = authentication
        self.time = time
        self.before = before
        self.after = after
    }

    /// Creates the request of a query.
    package init(_ query: Query, by authentication: RulesAuthentication?, at time: Timestamp) {
        method = .list
        database = query.parent.database
        path = query.parent.path
        self.authentication = authentication
        self.time = time
        self.query = query
    }

    /// The segments of the path as `match` sees them.
    var segments: [RequestSegment] {
        var segments: [RequestSegment] = []
        segments.reserveCapacity(8)
        segments += [.known("databases"), .known(database.database), .known("documents")]
        var rest = path[...]
        while !rest.isEmpty {
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            if end > rest.startIndex { segments.append(.known(String(rest[..<end]))) }
            rest = end < rest.endIndex ? rest[rest.utf8.index(after: end)...] : ""
        }
        guard let query else { return segments }
        if query.allDescendants || query.collectionID == nil { segments.append(.unknownMany) }
        segments.append(query.collectionID.map { .known($0) } ?? .unknown)
        return segments + [.unknown]
    }
}

/// A segment of the path of a request.
enum RequestSegment: Sendable, Hashable {
    case known(String)
    /// One segment that differs among the documents of a query.
    case unknown
    /// Any number of segments, also none, between a query's parent and its collections.
    case unknownMany
}

/// The account that makes a request.
package struct RulesAuthentication: Sendable {
    /// The account's id.
    package var userID: String
    /// The claims of the account's ID token.
    package var token: [String: Value] { claims() }

    private let claims: @Sendable () -> [String: Value]

    /// Creates an account.
    ///
    /// - Parameter token: The claims, evaluated only if a condition asks for one.
    package init(userID: String, token: @autoclosure @escaping @Sendable () -> [String: Value] = [:]) {
        self.userID = userID
        claims = token
    }
}
