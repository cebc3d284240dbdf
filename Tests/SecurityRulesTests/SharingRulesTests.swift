import DocumentModel
import SecurityRules
import Testing

/// Tests of shared lists: `ours` belongs to `they` and is shared with `me`.
@Suite
struct SharingRulesTests {
    private let rules = BuiltInRules()
    private let database = DatabaseName(project: "p", database: "(default)")
    private let me = Requester.user("me")
    private let list: Document
    private let task: Document

    init() throws {
        list = try Self.document(
            database, "lists/ours", ["userId": "they", "name": "Groceries", "sharedWith": .array(["you", "me"])])
        task = try Self.document(database, "tasks/t", ["userId": "they", "listId": "ours"])
    }

    private static func document(
        _ database: DatabaseName, _ path: String, _ fields: [String: Value]
    ) throws -> Document {
        let time = Timestamp(microseconds: 0)
        return Document(
            name: try DocumentName(database: database, path: path), fields: fields, createTime: time, updateTime: time)
    }

    private func lookup(_ name: DocumentName) -> Document? { [list, task].first { $0.name == name } }

    private func allowsWrite(
        _ before: Document?, _ after: Document?, by user: Requester? = nil, address: String? = nil,
        knowing others: [Document] = []
    ) throws -> Bool {
        let name = try #require(before ?? after).name
        return try rules.allowsWrite(
            to: name, before: before, after: after, by: user ?? me, address: address
        ) { name in lookup(name) ?? others.first { $0.name == name } }
    }

    /// Returns an invitation of `they` to `eve`, for the list `ours`.
    private func invitation(_ fields: [String: Value?] = [:]) throws -> Document {
        let invitation = try Self.document(
            database, "invitations/they.eve.ours",
            [
                "from": "they", "to": "eve", "listId": "ours", "listName": "Groceries", "fromName": "they@example.org",
                "toName": "eve@example.org", "createdTime": .timestamp(Timestamp(microseconds: 5)),
            ])
        return changed(invitation, fields)
    }

    private func changed(_ document: Document, _ fields: [String: Value?]) -> Document {
        var document = document
        for (key, value) in fields { document.fields[key] = value }
        return document
    }

    @Test func `members of a list read and write the owner's tasks in it`() throws {
        #expect(try rules.allowsRead(of: task.name, task, by: me, lookup: lookup))
        #expect(try rules.allowsRead(of: list.name, list, by: me, lookup: lookup))
        #expect(
            try allowsWrite(nil, task) && allowsWrite(task, changed(task, ["title": "x"])) && allowsWrite(task, nil))
        let other = Requester.user("eve")
        #expect(try !rules.allowsRead(of: task.name, task, by: other, lookup: lookup))
        #expect(try !allowsWrite(task, task, by: other) && !allowsWrite(nil, task, by: other))
        let below = try Self.document(database, "tasks/t/history/h", ["userId": "they"])
        #expect(try rules.allowsRead(of: below.name, below, by: me, lookup: lookup) && allowsWrite(nil, below))
        #expect(try !allowsWrite(nil, changed(below, ["userId": "eve"])))
        #expect(try !allowsWrite(nil, below, by: other))
    }

    @Test func `an entry below a deleted document is its owner's, but not in another's namespace`() throws {
        let mine = try Self.document(database, "tasks/gone/history/h", ["userId": "me"])
        #expect(try allowsWrite(nil, mine) && allowsWrite(mine, nil))
        #expect(
            try !allowsWrite(nil, changed(mine, ["userId": "they"]))
                && !allowsWrite(nil, changed(mine, ["userId": nil])))
        #expect(try !allowsWrite(changed(mine, ["userId": "they"]), mine))
        func below(_ user: String) throws -> Document {
            try Self.document(database, "lists/\(user).gone/history/h", ["userId": "me"])
        }
        #expect(try allowsWrite(nil, below("me")) && !allowsWrite(nil, below("they")))
    }

    @Test func `other tasks of the owner, and tasks of third users in the list, stay closed`() throws {
        let elsewhere = changed(task, ["listId": "theirs"])
        #expect(try !rules.allowsRead(of: task.name, elsewhere, by: me, lookup: lookup))
        #expect(try !allowsWrite(elsewhere, task) && !allowsWrite(task, elsewhere))
        let strangers = changed(task, ["userId": "eve"])
        #expect(try !rules.allowsRead(of: task.name, strangers, by: me, lookup: lookup))
        // The task is taken out of the list, or put into it.
        let mine = changed(task, ["userId": "me", "listId": nil])
        #expect(try allowsWrite(task, mine) && allowsWrite(mine, task))
    }

    @Test func `members may change the list except its owner and its members`() throws {
        #expect(try allowsWrite(list, changed(list, ["name": "Food"])))
        #expect(try allowsWrite(list, changed(list, ["sharedWith": .array(["you"])])), "I may leave")
        for fields: [String: Value?] in [
            ["sharedWith": .array(["me"])], ["sharedWith": .array(["you", "me", "eve"])], ["userId": "me"],
            ["sharedWith": nil], ["names": .map(["they": "somebody else"])],
        ] {
            #expect(try !allowsWrite(list, changed(list, fields)))
        }
        #expect(try allowsWrite(list, changed(list, ["names": .map(["me": "me@example.org"])])))
        #expect(try !allowsWrite(list, nil) && !allowsWrite(nil, list))
        #expect(try allowsWrite(list, changed(list, ["sharedWith": nil]), by: .user("they")))
        #expect(try !allowsWrite(list, changed(list, ["name": "x"]), by: .user("eve")))
    }

    @Test func `queries name the list and its owner, or ask for the lists that are shared`() throws {
        func allows(_ collection: String, _ filter: Query.Filter, by user: Requester? = nil) throws -> Bool {
            let query = Query(parent: ParentName(database), collectionID: collection, filter: filter)
            return try rules.allowsQuery(query, by: user ?? me, lookup: lookup)
        }
        func isField(_ key: String, _ value: Value) -> Query.Filter { .field(FieldPath(key: key), .equal, value) }
        let both = Query.Filter.and([isField("listId", "ours"), isField("userId", "they")])
        #expect(try allows("tasks", both) && allows("history", both))
        #expect(try !allows("tasks", both, by: .user("eve")))
        #expect(try !allows("tasks", isField("listId", "ours")) && !allows("tasks", isField("userId", "they")))
        #expect(try !allows("devices", both))
        let mine = isField("userId", "me")
        #expect(try allows("tasks", .or([both, mine])) && !allows("tasks", .or([both, isField("completed", true)])))
        let parts = Query.Filter.and([isField("userId", "they"), .or([isField("listId", "ours"), mine])])
        #expect(try allows("tasks", parts))
        let shared = Query.Filter.field(FieldPath(key: "sharedWith"), .arrayContains, "me")
        #expect(try allows("lists", shared) && !allows("tasks", shared) && !allows("lists", shared, by: .user("eve")))
        let open = isField("to", "me")
        #expect(try allows("invitations", open) && allows("invitations", isField("from", "me")))
        #expect(try !allows("invitations", open, by: .user("eve")) && !allows("invitations", isField("listId", "ours")))
        let query = Query(parent: ParentName(database), collectionID: "tasks", filter: both)
        #expect(try rules.lists(deciding: query) == [list.name] && !rules.isForEver(query, by: me))
        #expect(try rules.isForEver(Query(parent: ParentName(database), collectionID: "tasks", filter: mine), by: me))
    }

    @Test func `only an invited user can join, by adding themselves`() throws {
        let (they, eve) = (Requester.user("they"), Requester.user("eve"))
        let joined = changed(list, ["sharedWith": .array(["you", "me", "eve"])])
        let invitation = try invitation()
        #expect(try allowsWrite(list, joined, by: eve, knowing: [invitation]))
        let named = changed(joined, ["names": .map(["eve": "eve@example.org"])])
        #expect(try allowsWrite(list, named, by: eve, knowing: [invitation]))
        #expect(try !allowsWrite(list, joined, by: eve), "without an invitation")
        #expect(try !allowsWrite(list, joined, by: they, knowing: [invitation]), "the owner cannot add anybody")
        #expect(try !allowsWrite(list, joined, by: me, knowing: [invitation]))
        for fields: [String: Value?] in [
            ["sharedWith": .array(["eve"])], ["sharedWith": .array(["you", "me", "eve", "mallory"])],
            ["sharedWith": .array(["eve", "you", "me"])], ["name": "Mine"], ["userId": "eve"],
            ["names": .map(["they": "someone else"])],
        ] {
            #expect(try !allowsWrite(list, changed(joined, fields), by: eve, knowing: [invitation]), "\(fields)")
        }
        for fields: [String: Value?] in [["from": "mallory"], ["to": "you"], ["listId": "others"]] {
            #expect(try !allowsWrite(list, joined, by: eve, knowing: [changed(invitation, fields)]))
        }
        // A list cannot be created with members.
        #expect(try !allowsWrite(nil, list, by: they) && allowsWrite(nil, changed(list, ["sharedWith": nil]), by: they))
    }

    @Test func `only the owner of a list may invite, and only users who have not blocked them`() throws {
        let (they, eve) = (Requester.user("they"), Requester.user("eve"))
        let invitation = try invitation()
        let address = "they@example.org"
        #expect(try allowsWrite(nil, invitation, by: they, address: address))
        #expect(try allowsWrite(invitation, nil, by: they) && allowsWrite(invitation, nil, by: eve))
        #expect(try !allowsWrite(nil, invitation, by: they, address: nil), "an anonymous account")
        #expect(try !allowsWrite(nil, invitation, by: they, address: "other@example.org"))
        #expect(try !allowsWrite(nil, invitation, by: me, address: address) && !allowsWrite(invitation, nil))
        #expect(try !allowsWrite(invitation, invitation, by: eve, address: address))
        for fields: [String: Value?] in [
            ["from": "me"], ["to": "me"], ["to": "they"], ["listId": "other"], ["listName": nil], ["listName": 5],
            ["fromName": "eve@example.org"], ["createdTime": "now"], ["userId": "eve"],
            ["listName": .string(String(repeating: "x", count: 1501))],
        ] {
            #expect(try !allowsWrite(nil, changed(invitation, fields), by: they, address: address), "\(fields)")
        }
        let block = try Self.document(database, "blocks/eve.they", ["userId": "eve"])
        #expect(try !allowsWrite(nil, invitation, by: they, address: address, knowing: [block]))
        #expect(try allowsWrite(nil, block, by: eve) && !allowsWrite(nil, block, by: they))
        let planted = try Self.document(database, "blocks/they.you", ["userId": "eve"])
        #expect(try !allowsWrite(nil, planted, by: eve))
        for user in [they, eve] {
            #expect(try rules.allowsRead(of: invitation.name, invitation, by: user, lookup: lookup))
            #expect(try rules.allowsRead(of: invitation.name, nil, by: user, lookup: lookup))
        }
        #expect(try !rules.allowsRead(of: invitation.name, invitation, by: me, lookup: lookup))
        #expect(try !rules.allowsRead(of: invitation.name, nil, by: me, lookup: lookup))
    }

    @Test(arguments: ["lists", "tasks", "devices", "blocks"])
    func `a user's namespace reveals nothing to others`(_ collection: String) throws {
        let eve = Requester.user("eve")
        let document = try Self.document(database, "\(collection)/they.x", ["userId": "they"])
        #expect(try rules.allowsRead(of: document.name, nil, by: .user("they"), lookup: lookup))
        #expect(try allowsWrite(nil, document, by: .user("they")))
        #expect(try !rules.allowsRead(of: document.name, nil, by: eve, lookup: lookup))
        #expect(try !rules.allowsRead(of: document.name, document, by: eve, lookup: lookup))
        #expect(try !allowsWrite(nil, changed(document, ["userId": "eve"]), by: eve))
        #expect(try !rules.allowsWrite(to: document.name, before: nil, after: nil, by: eve, lookup: lookup))
        // The id only starts like that of another user.
        let similar = try Self.document(database, "\(collection)/they.x", ["userId": "the"])
        #expect(try !allowsWrite(nil, similar, by: .user("the")))
    }
}
