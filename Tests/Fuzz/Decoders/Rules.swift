import DocumentModel
import RulesLanguage

/// Rules that an operator has written, and their decisions about a few requests.
func decodeRules(_ bytes: [UInt8]) {
    guard let source = String(validating: bytes, as: UTF8.self), let rules = try? Ruleset(parsing: source) else {
        return
    }
    let database = DatabaseName(project: "p")
    guard let name = try? DocumentName(database: database, path: "docs/one") else { return }
    let time = Timestamp(microseconds: 1)
    let fields: [String: Value] = [
        "a": .integer(1), "b": .string("text"), "c": .array([.double(.nan), .null]), "d": .map(["e": .timestamp(time)]),
    ]
    let document = Document(name: name, fields: fields, createTime: time, updateTime: time)
    let account = RulesAuthentication(userID: "u", token: ["email": .string("u@example.org")])
    let filter = Query.Filter.field(FieldPath(key: "a"), .greaterThan, .integer(0))
    let requests = [
        RulesRequest(.get, name, by: account, at: time, before: document),
        RulesRequest(.update, name, by: nil, at: time, before: document, after: document),
        RulesRequest(
            Query(parent: ParentName(database), collectionID: "docs", filter: filter), by: account, at: time),
        RulesRequest(
            Query(parent: ParentName(database), collectionID: "docs", allDescendants: true), by: account, at: time),
    ]
    for request in requests {
        let first = rules.decide(request) { _ in .some(document) }
        check(first == rules.decide(request) { _ in .some(document) }, "two decisions about one request differ")
    }
}
