import DocumentModel
package import JSON

/// A request with the decision that is expected of rules.
///
/// In a file of cases each is an object of JSON:
///
///     {"name": "owners read", "allow": true, "method": "get", "path": "notes/1",
///      "auth": {"uid": "ann", "token": {"email": "ann@example.org"}},
///      "before": {"owner": "ann"}, "after": null, "time": 1795000000,
///      "documents": {"users/ann": {"role": "editor"}},
///      "query": {"where": [["owner", "==", "ann"]], "orderBy": ["title"], "limit": 10}}
///
/// `allow`, `method` and `path` are needed. `path` is that of a document or, for `list`, of a
/// collection; with `"group": true` in the query, of a collection group. Numbers with a fraction or
/// an exponent are floats. `documents` are those that conditions may ask for, before and after the
/// request; a written document is found at its own path, too. `time` is in seconds since 1970.
package struct RulesCase: Sendable {
    /// The case's name; its number if it has none.
    package let name: String
    /// Whether the request should be allowed.
    package let allows: Bool
    package let request: RulesRequest
    private let documents: [DocumentName: Document]

    /// Reads a file of cases: an array.
    ///
    /// - Throws: `RulesCaseError` for what is not a case, with its number.
    package static func parse(_ json: JSON) throws -> [RulesCase] {
        guard let elements = json.arrayValue else { throw RulesCaseError("The cases are not an array.") }
        return try elements.enumerated().map { index, element in
            do { return try RulesCase(element, number: index + 1) } catch {
                throw RulesCaseError("Case \(index + 1): \(error)")
            }
        }
    }

    /// Decides the case by rules.
    package func decide(by rules: Ruleset) -> RulesDecision {
        rules.decide(request) { needed in
            if needed.name.path == request.path { return .some(needed.after ? request.after : request.before) }
            return .some(documents[needed.name])
        }
    }

    private init(_ json: JSON, number: Int) throws {
        guard let object = json.objectValue else { throw RulesCaseError("A case is an object.") }
        let keys = ["name", "allow", "method", "path", "auth", "before", "after", "time", "documents", "query"]
        if let other = object.keys.first(where: { !keys.contains($0) }) {
            throw RulesCaseError("A case has no \"\(other)\".")
        }
        name = json["name"]?.stringValue ?? "case \(number)"
        guard let allows = json["allow"]?.booleanValue else { throw RulesCaseError("\"allow\" is true or false.") }
        guard let method = json["method"]?.stringValue.flatMap(RulesMethod.init(rawValue:)) else {
            throw RulesCaseError("\"method\" is get, list, create, update or delete.")
        }
        guard let path = json["path"]?.stringValue else { throw RulesCaseError("\"path\" is a string.") }
        self.allows = allows
        let database = DatabaseName(project: "project")
        let seconds = json["time"]?.integerValue ?? 0
        guard let time = Timestamp(seconds: seconds, nanos: 0) else {
            throw RulesCaseError("\"time\" is out of range.")
        }
        let account = try Self.account(json["auth"])
        func document(_ path: String, _ fields: JSON?) throws -> Document? {
            guard let fields, !fields.isNull else { return nil }
            guard case .map(let map) = Self.value(fields) else { throw RulesCaseError("\"\(path)\" is no object.") }
            let name = try DocumentName(database: database, path: path)
            return Document(name: name, fields: map, createTime: time, updateTime: time)
        }
        var documents: [DocumentName: Document] = [:]
        for (path, fields) in json["documents"]?.objectValue ?? [:] {
            if let document = try document(path, fields) { documents[document.name] = document }
        }
        self.documents = documents
        guard method == .list else {
            request = RulesRequest(
                method, try DocumentName(database: database, path: path), by: account, at: time,
                before: try document(path, json["before"]), after: try document(path, json["after"]))
            return
        }
        request = RulesRequest(try Self.query(json["query"], path, database), by: account, at: time)
    }

    private static func account(_ json: JSON?) throws -> RulesAuthentication? {
        guard let json, !json.isNull else { return nil }
        guard let id = json["uid"]?.stringValue else { throw RulesCaseError("\"auth\" is null or has a \"uid\".") }
        guard case .map(let token) = value(json["token"] ?? [:]) else {
            throw RulesCaseError("\"token\" is an object.")
        }
        return RulesAuthentication(userID: id, token: token)
    }

    private static func query(_ json: JSON?, _ path: String, _ database: DatabaseName) throws -> Query {
        var segments = path.split(separator: "/").map(String.init)
        guard let collection = segments.popLast() else { throw RulesCaseError("\"path\" is empty.") }
        var parent = ParentName(database)
        if !segments.isEmpty {
            parent = ParentName(try DocumentName(database: database, path: segments.joined(separator: "/")))
        }
        var query = Query(
            parent: parent, collectionID: collection, allDescendants: json?["group"]?.booleanValue ?? false)
        let filters = try (json?["where"]?.arrayValue ?? []).map(filter)
        if !filters.isEmpty { query.filter = .and(filters) }
        query.orders = try (json?["orderBy"]?.arrayValue ?? []).map {
            Query.Order(try FieldPath(parsing: $0.stringValue ?? ""))
        }
        query.limit = json?["limit"]?.integerValue.flatMap(Int32.init(exactly:))
        return query
    }

    private static func filter(_ json: JSON) throws -> Query.Filter {
        let tests: [String: Query.FieldOperator] = [
            "<": .lessThan, "<=": .lessThanOrEqual, ">": .greaterThan, ">=": .greaterThanOrEqual, "==": .equal,
            "!=": .notEqual, "array-contains": .arrayContains, "in": .in, "array-contains-any": .arrayContainsAny,
            "not-in": .notIn,
        ]
        guard let path = json[0]?.stringValue, let test = json[1]?.stringValue.flatMap({ tests[$0] }),
            let operand = json[2]
        else { throw RulesCaseError("A filter is an array of a field, an operator and a value.") }
        return .field(try FieldPath(parsing: path), test, value(operand))
    }

    private static func value(_ json: JSON) -> Value {
        switch json {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .number(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let elements): .array(elements.map(value))
        case .object(let object):
            .map(Dictionary(object.members.map { ($0.key, value($0.value)) }, uniquingKeysWith: { $1 }))
        }
    }
}

/// A case that cannot be read.
package struct RulesCaseError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
