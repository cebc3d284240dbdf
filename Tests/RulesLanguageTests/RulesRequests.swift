import DocumentModel
import RulesLanguage

/// Requests and rules in short form.
enum Sample {
    static let database = DatabaseName(project: "p")
    static let time = Timestamp(microseconds: 1_795_000_000_000_000)
    static let ann = RulesAuthentication(
        userID: "ann", token: ["email": .string("ann@example.org"), "admin": .boolean(true)])

    static func name(_ path: String) throws -> DocumentName { try DocumentName(database: database, path: path) }

    static func document(_ path: String, _ fields: [String: Value]) throws -> Document {
        Document(name: try name(path), fields: fields, createTime: time, updateTime: time)
    }

    /// Rules that allow everything in `docs` on one condition.
    static func rules(_ condition: String, functions: String = "") throws -> Ruleset {
        try Ruleset(
            parsing: """
                rules_version = '2';
                service cloud.firestore {
                  match /databases/{database}/documents {
                    \(functions)
                    match /docs/{id} { allow read, write: if \(condition); }
                  }
                }
                """)
    }

    /// Whether a condition allows to read a document.
    static func allowsGet(
        _ condition: String, _ fields: [String: Value]? = [:], by account: RulesAuthentication? = ann,
        functions: String = "", others: [String: [String: Value]] = [:]
    ) throws -> Bool {
        let request = RulesRequest(
            .get, try name("docs/one"), by: account, at: time, before: try fields.map { try document("docs/one", $0) })
        let known = try Dictionary(
            uniqueKeysWithValues: others.map { (try name($0.key), try document($0.key, $0.value)) })
        let decision = try rules(condition, functions: functions).decide(request) { .some(known[$0.name]) }
        return decision == .allowed
    }

    /// Whether a condition allows a query.
    static func allowsQuery(_ condition: String, _ filter: Query.Filter?, limit: Int32? = nil) throws -> Bool {
        var query = Query(parent: ParentName(database), collectionID: "docs", filter: filter)
        query.limit = limit
        return try rules(condition).decide(RulesRequest(query, by: ann, at: time)) == .allowed
    }

    static func field(_ path: String, _ test: Query.FieldOperator, _ value: Value) throws -> Query.Filter {
        .field(try FieldPath(parsing: path), test, value)
    }
}

/// The generator of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
