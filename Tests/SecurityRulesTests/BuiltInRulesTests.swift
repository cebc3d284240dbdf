import DocumentModel
import SecurityRules
import Testing

@Suite
struct BuiltInRulesTests {
    private let rules = BuiltInRules()
    private let database: DatabaseName
    private let mine: Document
    private let theirs: Document

    init() throws {
        database = DatabaseName(project: "p", database: "(default)")
        mine = try Self.document(database, "tasks/mine", owner: "me")
        theirs = try Self.document(database, "tasks/theirs", owner: "they")
    }

    private static func document(_ database: DatabaseName, _ path: String, owner: String?) throws -> Document {
        let fields = owner.map { ["userId": Value.string($0)] } ?? [:]
        let time = Timestamp(microseconds: 0)
        return Document(
            name: try DocumentName(database: database, path: path), fields: fields, createTime: time, updateTime: time)
    }

    private func name(_ path: String) throws -> DocumentName { try DocumentName(database: database, path: path) }

    private func lookup(_ name: DocumentName) -> Document? { [mine, theirs].first { $0.name == name } }

    @Test func `users read their own documents, and absent ones`() throws {
        let user = Requester.user("me")
        #expect(try rules.allowsRead(of: mine.name, mine, by: user, lookup: lookup))
        #expect(try !rules.allowsRead(of: theirs.name, theirs, by: user, lookup: lookup))
        #expect(try rules.allowsRead(of: name("tasks/none"), nil, by: user, lookup: lookup))
        let unowned = try Self.document(database, "tasks/unowned", owner: nil)
        #expect(try !rules.allowsRead(of: unowned.name, unowned, by: user, lookup: lookup))
    }

    @Test func `documents below a document belong to its owner, regardless of their own fields`() throws {
        let user = Requester.user("me")
        let below = try Self.document(database, "tasks/theirs/history/x", owner: "me")
        #expect(try !rules.allowsRead(of: below.name, below, by: user, lookup: lookup))
        #expect(try !rules.allowsWrite(to: below.name, before: nil, after: below, by: user, lookup: lookup))
        let own = try Self.document(database, "tasks/mine/history/x/deeper/y", owner: nil)
        #expect(try rules.allowsRead(of: own.name, own, by: user, lookup: lookup))
        #expect(try rules.allowsWrite(to: own.name, before: own, after: nil, by: user, lookup: lookup))
        let orphan = try name("tasks/none/history/x")
        #expect(try !rules.allowsRead(of: orphan, nil, by: user, lookup: lookup))
    }

    @Test func `a write must find and leave the document owned by the user`() throws {
        let user = Requester.user("me")
        func allows(_ before: Document?, _ after: Document?) throws -> Bool {
            try rules.allowsWrite(to: mine.name, before: before, after: after, by: user, lookup: lookup)
        }
        #expect(try allows(nil, mine) && allows(mine, mine) && allows(mine, nil) && allows(nil, nil))
        #expect(try !allows(theirs, mine) && !allows(mine, theirs) && !allows(theirs, nil) && !allows(nil, theirs))
    }

    @Test func `a query must demand the user's own in every alternative`() throws {
        let user = Requester.user("me")
        let owned = Query.Filter.field(FieldPath(key: "userId"), .equal, .string("me"))
        let foreign = Query.Filter.field(FieldPath(key: "userId"), .equal, .string("they"))
        let other = Query.Filter.unary(FieldPath(key: "due"), .isNotNull)
        func allows(_ filter: Query.Filter?, _ collection: String? = "tasks", deep: Bool = false) throws -> Bool {
            let query = Query(
                parent: ParentName(database), collectionID: collection, allDescendants: deep, filter: filter)
            return try rules.allowsQuery(query, by: user, lookup: lookup)
        }
        #expect(try allows(owned) && allows(.and([other, owned])) && allows(.or([owned, .and([owned, other])])))
        #expect(try !allows(nil) && !allows(other) && !allows(foreign) && !allows(.or([owned, other])))
        #expect(try !allows(.or([])) && !allows(.and([])) && !allows(.or([owned, foreign])))
        #expect(try !allows(owned, "history", deep: true) && !allows(owned, nil))
        let nested = try Query.Filter.field(FieldPath(["userId", "x"]), .equal, .string("me"))
        #expect(try !allows(nested))
    }

    @Test func `any query below the user's own document is allowed`() throws {
        func allows(_ parent: String) throws -> Bool {
            let query = Query(parent: ParentName(try name(parent)), collectionID: "history", allDescendants: true)
            let listing = try rules.allowsListing(
                below: ParentName(try name(parent)), by: .user("me"), lookup: lookup)
            let answer = try rules.allowsQuery(query, by: .user("me"), lookup: lookup)
            #expect(listing == answer)
            return answer
        }
        #expect(try allows("tasks/mine") && allows("tasks/mine/history/x"))
        #expect(try !allows("tasks/theirs") && !allows("tasks/theirs/history/x") && !allows("tasks/none"))
    }

    @Test func `the administrator may do everything, and unknown callers nothing`() throws {
        let query = Query(parent: ParentName(database), collectionID: nil, allDescendants: true)
        for (requester, expected) in [(Requester.administrator, true), (.nobody, false)] {
            #expect(try rules.allowsRead(of: mine.name, mine, by: requester, lookup: lookup) == expected)
            #expect(try rules.allowsRead(of: name("a/b"), nil, by: requester, lookup: lookup) == expected)
            let write = try rules.allowsWrite(
                to: mine.name, before: mine, after: theirs, by: requester, lookup: lookup)
            #expect(write == expected)
            #expect(try rules.allowsQuery(query, by: requester, lookup: lookup) == expected)
            let listing = try rules.allowsListing(below: ParentName(database), by: requester, lookup: lookup)
            #expect(listing == expected)
        }
    }
}
