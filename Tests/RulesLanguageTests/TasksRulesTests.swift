import DocumentModel
import Foundation
import RulesLanguage
import SecurityRules
import Testing

/// Tests that `Examples/rules/tasks.rules` and the built-in rules decide alike on random requests.
@Suite struct TasksRulesTests {
    private let rules: Ruleset
    private let builtIn = BuiltInRules()

    init() throws {
        let path = URL(filePath: #filePath).appending(path: "../../../Examples/rules/tasks.rules").standardized
        rules = try Ruleset(parsing: String(decoding: try Data(contentsOf: path), as: UTF8.self))
    }

    @Test(arguments: 0..<20) func decideAlike(_ seed: UInt64) throws {
        var world = World(seed: seed)
        var allowed = 0
        for _ in 0..<2000 {
            let request = try world.request()
            let expected = try decide(request, in: world)
            let decision = rules.decide(request) { needed in
                if needed.after, needed.name.path == request.path { return .some(request.after) }
                return .some(world.documents[needed.name])
            }
            if expected { allowed += 1 }
            guard expected != (decision == .allowed) else { continue }
            Issue.record(
                "\(request.method) \(request.path) by \(request.authentication?.userID ?? "nobody"): built-in \(expected), \(decision); before \(String(describing: request.before?.fields)), after \(String(describing: request.after?.fields)), query \(String(describing: request.query?.filter))"
            )
            return
        }
        #expect(allowed > 100)
    }

    private func decide(_ request: RulesRequest, in world: World) throws -> Bool {
        let requester = request.authentication.map { Requester.user($0.userID) } ?? .nobody
        if let query = request.query {
            return try builtIn.allowsQuery(query, by: requester) { world.documents[$0] }
        }
        let name = try DocumentName(database: request.database, path: request.path)
        if request.method == .get {
            return try builtIn.allowsRead(of: name, request.before, by: requester) { world.documents[$0] }
        }
        var address: String?
        if case .string(let email)? = request.authentication?.token["email"] { address = email }
        return try builtIn.allowsWrite(
            to: name, before: request.before, after: request.after, by: requester, address: address
        ) { world.documents[$0] }
    }
}

/// Random documents of three users, and requests about them.
private struct World {
    private var random: SplitMix
    private(set) var documents: [DocumentName: Document] = [:]
    private static let users = ["ann", "bob", "cal"]
    private static let lists = ["l", "ann.l", "bob.m"]

    init(seed: UInt64) { random = SplitMix(state: seed) }

    mutating func request() throws -> RulesRequest {
        if Int.random(in: 0..<40, using: &random) == 0 { documents = [:] }
        for _ in 0..<3 { try grow() }
        let user = pick(Self.users + [nil])
        let account = user.map { user in
            RulesAuthentication(
                userID: user, token: user == "cal" ? [:] : ["email": .string("\(user)@example.org")])
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            return RulesRequest(query(), by: account, at: Sample.time)
        }
        let name = try name()
        let before = documents[name]
        let changed = pick([before?.fields, nil, nil]) ?? fields(of: name)
        let after = Document(
            name: name, fields: touched(changed, name), createTime: Sample.time, updateTime: Sample.time)
        switch pick([RulesMethod.get, .update, .update, .delete]) {
        case .get: return RulesRequest(.get, name, by: account, at: Sample.time, before: before)
        case .delete: return RulesRequest(.delete, name, by: account, at: Sample.time, before: before)
        default:
            return RulesRequest(
                before == nil ? .create : .update, name, by: account, at: Sample.time, before: before, after: after)
        }
    }

    private mutating func grow() throws {
        let name = try name()
        documents[name] = Document(
            name: name, fields: fields(of: name), createTime: Sample.time, updateTime: Sample.time)
    }

    private mutating func name() throws -> DocumentName {
        let user = pick(Self.users)
        let other = pick(Self.users)
        let list = pick(Self.lists)
        let path = pick([
            "tasks/t", "tasks/\(user).t", "lists/\(list)", "lists/\(list)", "invitations/\(user).\(other).\(list)",
            "invitations/\(user).x", "blocks/\(user).\(other)", "devices/\(user).d", "devices/d", "notes/n",
            "notes/\(user).n",
            "tasks/t/history/h", "tasks/\(user).t/history/h",
        ])
        return try DocumentName(database: Sample.database, path: path)
    }

    private mutating func fields(of name: DocumentName) -> [String: Value] {
        var fields: [String: Value] = ["userId": .string(pick(Self.users))]
        switch name.collectionID {
        case "tasks", "history": fields["listId"] = .string(pick(Self.lists))
        case "lists":
            if Bool.random(using: &random) { fields["sharedWith"] = .array(members()) }
            if Bool.random(using: &random) { fields["names"] = .map([pick(Self.users): .string(pick(["x", "y"]))]) }
        case "invitations":
            let parts = name.id.split(separator: ".", maxSplits: 2).map(String.init)
            fields = [
                "from": .string(parts.first ?? ""), "to": .string(parts.count > 1 ? parts[1] : ""),
                "listId": .string(parts.count > 2 ? parts[2] : ""), "createdTime": .timestamp(Sample.time),
                "listName": .string("l"), "toName": .string("x"),
                "fromName": .string("\(parts.first ?? "")@example.org"),
            ]
            if Int.random(in: 0..<6, using: &random) == 0 { fields["other"] = .null }
        default: break
        }
        if Int.random(in: 0..<8, using: &random) == 0 { fields["userId"] = nil }
        return fields
    }

    private mutating func members() -> [Value] {
        Self.users.filter { _ in Bool.random(using: &random) }.map(Value.string)
    }

    /// Changes one or two fields, as often those that decide as others.
    private mutating func touched(_ fields: [String: Value], _ name: DocumentName) -> [String: Value] {
        var fields = fields
        for _ in 0..<Int.random(in: 0..<3, using: &random) {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: fields["title"] = .string(pick(["a", "b"]))
            case 1: fields["userId"] = .string(pick(Self.users))
            case 2 where name.collectionPath == "lists":
                var members = fields["sharedWith"]?.arrayValue ?? []
                let user = Value.string(pick(Self.users))
                if members.contains(user) { members.removeAll { $0 == user } } else { members.append(user) }
                fields["sharedWith"] = .array(members)
            case 3 where name.collectionPath == "lists":
                var names = fields["names"]?.mapValue ?? [:]
                names[pick(Self.users)] = .string("z")
                fields["names"] = .map(names)
            case 4 where name.collectionPath == "tasks": fields["listId"] = .string(pick(Self.lists))
            default: break
            }
        }
        return fields
    }

    private mutating func query() -> Query {
        let filters: [Query.Filter] = [
            .field(FieldPath(key: "userId"), .equal, .string(pick(Self.users))),
            .field(FieldPath(key: "listId"), .equal, .string(pick(Self.lists))),
            .field(FieldPath(key: "sharedWith"), .arrayContains, .string(pick(Self.users))),
            .field(FieldPath(key: "from"), .equal, .string(pick(Self.users))),
            .field(FieldPath(key: "to"), .equal, .string(pick(Self.users))),
            .field(FieldPath(key: "title"), .greaterThan, .string("a")),
        ]
        let chosen = filters.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        let collection = pick(["tasks", "lists", "invitations", "notes", "devices"])
        return Query(
            parent: ParentName(Sample.database), collectionID: collection,
            filter: chosen.isEmpty ? nil : Bool.random(using: &random) ? .and(chosen) : .or(chosen))
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }
}
