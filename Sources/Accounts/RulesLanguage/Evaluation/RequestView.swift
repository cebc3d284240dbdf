import DocumentModel

/// `request` in a condition.
final class RequestView: RuleMapView {
    private let request: RulesRequest
    private let authentication: RuleValue

    init(_ request: RulesRequest) {
        self.request = request
        authentication = request.authentication.map { .map(.view(AuthenticationView($0))) } ?? .null
    }

    func value(of key: String) -> RuleValue? {
        switch key {
        case "auth": authentication
        case "method": .string(request.method.rawValue)
        case "path": path
        case "resource": ResourceView.value(of: request.after)
        case "time": .timestamp(request.time)
        case "query": request.query.map { .map(.view(QueryView($0))) }
        default: nil
        }
    }

    var entries: [String: RuleValue]? {
        var entries: [String: RuleValue] = [:]
        for key in ["auth", "method", "path", "resource", "time", "query"] { entries[key] = value(of: key) }
        return entries
    }

    func hasKey(_ key: String) -> Bool? { value(of: key) != nil }

    private var path: RuleValue {
        var segments: [String] = []
        for segment in request.segments {
            guard case .known(let text) = segment else { return .unknown(.present) }
            segments.append(text)
        }
        return .path(segments)
    }
}

/// `request.auth` in a condition.
final class AuthenticationView: RuleMapView {
    private let account: RulesAuthentication

    init(_ account: RulesAuthentication) { self.account = account }

    func value(of key: String) -> RuleValue? {
        switch key {
        case "uid": .string(account.userID)
        case "token": .map(.stored(account.token))
        default: nil
        }
    }

    var entries: [String: RuleValue]? {
        ["uid": .string(account.userID), "token": .map(.stored(account.token))]
    }

    func hasKey(_ key: String) -> Bool? { key == "uid" || key == "token" }
}

/// `resource` and `request.resource` in a condition, and what `get` returns.
final class ResourceView: RuleMapView {
    private let document: Document

    private init(_ document: Document) { self.document = document }

    /// Returns the document as a value; null if there is none.
    static func value(of document: Document?) -> RuleValue {
        document.map { .map(.view(ResourceView($0))) } ?? .null
    }

    func value(of key: String) -> RuleValue? {
        switch key {
        case "data": .map(.stored(document.fields))
        case "id": .string(document.name.id)
        case "__name__": .path(RuleValue.segments(ofReference: document.name.description))
        default: nil
        }
    }

    var entries: [String: RuleValue]? {
        var entries: [String: RuleValue] = [:]
        for key in ["data", "id", "__name__"] { entries[key] = value(of: key) }
        return entries
    }

    func hasKey(_ key: String) -> Bool? { value(of: key) != nil }
}

/// `resource` of a query: any of the documents that one alternative of it may return.
final class QueryResourceView: RuleMapView {
    private let constraints: QueryConstraints
    let entries: [String: RuleValue]? = nil

    init(_ constraints: QueryConstraints) { self.constraints = constraints }

    func value(of key: String) -> RuleValue? {
        switch key {
        case "data": .map(.view(OpenMap(constraints, path: [])))
        case "id", "__name__": .unknown(.present)
        default: nil
        }
    }

    func hasKey(_ key: String) -> Bool? { value(of: key) != nil }
}

/// `request.query` in a condition.
final class QueryView: RuleMapView {
    private let query: Query

    init(_ query: Query) { self.query = query }

    func value(of key: String) -> RuleValue? {
        switch key {
        case "limit": query.limit.map { .integer(Int64($0)) }
        case "offset": .integer(Int64(query.offset))
        case "orderBy":
            .map(
                .built(
                    Dictionary(
                        query.orders.map { ($0.path.description, .string($0.descending ? "DESC" : "ASC")) },
                        uniquingKeysWith: { first, _ in first })))
        default: nil
        }
    }

    var entries: [String: RuleValue]? {
        var entries: [String: RuleValue] = [:]
        for key in ["limit", "offset", "orderBy"] { entries[key] = value(of: key) }
        return entries
    }

    func hasKey(_ key: String) -> Bool? { value(of: key) != nil }
}
