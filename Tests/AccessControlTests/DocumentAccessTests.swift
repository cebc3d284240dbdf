import DocumentModel
import DocumentStore
import FirestoreServer
import SecurityRules
import Testing

@testable import AccessControl

/// The rules as calls meet them, over a store with Alice's and Bob's tasks.
struct DocumentAccessTests {
    private let access = DocumentAccess()
    private let store = MemoryDocumentStore(DatabaseName(project: "p"))
    private let alice = Caller.user(id: "alice", expires: nil)

    init() async throws {
        _ = try await store.commit([
            try set("tasks/a", owner: "alice"), try set("tasks/b", owner: "bob"),
            try set("tasks/a/history/1", owner: nil),
            try set("tasks/b/history/1", owner: "bob"), try set("tasks/open", owner: nil),
        ])
    }

    private func name(_ path: String) throws -> DocumentName { try DocumentName(database: store.database, path: path) }

    private func set(_ path: String, owner: String?) throws -> Write {
        var fields: [String: Value] = ["title": .string("t")]
        if let owner { fields["userId"] = .string(owner) }
        return Write(.update(try name(path), fields: fields))
    }

    private func mayCommit(_ writes: [Write], _ caller: Caller) async -> Bool {
        let access = access
        do {
            _ = try await store.commit(
                writes, transaction: nil, guarding: CommitGuard(account: "a") { try access.check($0, by: caller) })
            return true
        } catch {
            #expect((error as? DocumentStoreError)?.code == .permissionDenied)
            return false
        }
    }

    private func mayGet(_ path: String, _ caller: Caller) async throws -> Bool {
        let name = try name(path)
        let documents = try await store.get([name], at: .strong).documents
        do {
            try await access.check(get: [name], documents, in: store, by: caller)
            return true
        } catch {
            return false
        }
    }

    private func mayList(_ query: Query, _ caller: Caller) async -> Bool {
        (try? await access.check(list: query, asOf: nil, in: store, by: caller)) != nil
    }

    @Test func `users write documents that are and stay theirs`() async throws {
        #expect(await mayCommit([try set("tasks/new", owner: "alice")], alice))
        #expect(await mayCommit([try set("tasks/a", owner: "alice")], alice))
        #expect(await mayCommit([Write(.delete(try name("tasks/a")))], alice))
    }

    @Test func `documents without an owner, of others, or given to others are refused`() async throws {
        for (path, owner) in [
            ("tasks/new", nil), ("tasks/new", "bob"), ("tasks/b", "alice"), ("tasks/b", "bob"), ("tasks/a", "bob"),
            ("tasks/a", nil), ("tasks/open", "alice"),
        ] as [(String, String?)] {
            let write = try set(path, owner: owner)
            #expect(await !mayCommit([write], alice), "\(path) for \(owner ?? "nobody")")
            #expect(await !mayCommit([write], .nobody))
        }
        #expect(await !mayCommit([Write(.delete(try name("tasks/b")))], alice))
        #expect(await !mayCommit([Write(.verify(try name("tasks/b")))], alice))
    }

    @Test func `one refused write refuses the commit`() async throws {
        #expect(await !mayCommit([try set("tasks/new", owner: "alice"), try set("tasks/b", owner: "alice")], alice))
        #expect(try await store.get([try name("tasks/new")], at: .strong).documents == [nil])
    }

    @Test func `documents below a document belong to its owner`() async throws {
        #expect(await mayCommit([try set("tasks/a/history/2", owner: nil)], alice))
        #expect(await mayCommit([try set("tasks/a/history/2/more/3", owner: "alice")], alice))
        #expect(await !mayCommit([try set("tasks/b/history/2", owner: nil)], alice))
        // A value that a merge replaced, below a document that no longer exists, belongs to its
        // owner only.
        #expect(await mayCommit([try set("tasks/none/history/2", owner: "alice")], alice))
        #expect(await !mayCommit([try set("tasks/none/history/3", owner: nil)], alice))
        #expect(await !mayCommit([try set("tasks/none/history/4", owner: "bob")], alice))
        // Otherwise Bob's query for his history would find it.
        #expect(await !mayCommit([try set("tasks/a/history/2", owner: "bob")], alice))
        // Both are written together with the document itself, in either order.
        #expect(
            await mayCommit([try set("tasks/c/history/1", owner: "alice"), try set("tasks/c", owner: "alice")], alice))
    }

    @Test func `users read their own documents`() async throws {
        for (path, expected) in [
            ("tasks/a", true), ("tasks/b", false), ("tasks/open", false), ("tasks/a/history/1", true),
            ("tasks/b/history/1", false), ("tasks/b/history/none", false), ("tasks/none", true),
        ] {
            #expect(try await mayGet(path, alice) == expected, "\(path)")
            #expect(try await !mayGet(path, .nobody), "\(path)")
            #expect(try await mayGet(path, .administrator))
        }
    }

    @Test func `a query must ask for the user's own`() async throws {
        let root = ParentName(store.database)
        let mine = Query.Filter.field(FieldPath(key: "userId"), .equal, .string("alice"))
        let theirs = Query.Filter.field(FieldPath(key: "userId"), .equal, .string("bob"))
        let other = Query.Filter.field(FieldPath(key: "title"), .equal, .string("alice"))
        let cases: [(Query.Filter?, Bool)] = [
            (mine, true), (.and([other, mine]), true), (.or([mine, .and([mine, other])]), true), (theirs, false),
            (other, false),
            (nil, false), (.or([mine, theirs]), false), (.or([mine, other]), false), (.or([]), false),
            (.and([]), false),
        ]
        for (filter, expected) in cases {
            for everywhere in [false, true] {
                let query = Query(parent: root, collectionID: "tasks", allDescendants: everywhere, filter: filter)
                #expect(await mayList(query, alice) == expected, "\(String(describing: filter))")
                #expect(await !mayList(query, .nobody))
            }
        }
        #expect(await !mayList(Query(parent: root, collectionID: nil, allDescendants: true, filter: mine), alice))
        #expect(await mayList(Query(parent: ParentName(try name("tasks/a")), collectionID: "history"), alice))
        #expect(await !mayList(Query(parent: ParentName(try name("tasks/b")), collectionID: "history"), alice))
        #expect(
            await !mayList(Query(parent: ParentName(try name("tasks/b")), collectionID: "history", filter: mine), alice)
        )
    }

    // MARK: Namespaces and invitations

    private func prepare(_ writes: [Write], _ caller: Caller) async -> DocumentStoreError.Code? {
        do {
            try await access.prepare(writes, in: store, by: caller)
            return nil
        } catch {
            return (error as? DocumentStoreError)?.code
        }
    }

    @Test func `a precondition in another user's namespace reveals nothing`() async throws {
        _ = try await store.commit([try set("lists/bob.known", owner: "bob")])
        for path in ["lists/bob.known", "lists/bob.unknown", "devices/bob.unknown"] {
            let name = try name(path)
            for precondition in [Precondition.exists(true), .exists(false)] {
                for write in [
                    Write(.update(name, fields: ["userId": "alice"]), precondition: precondition),
                    Write(.delete(name), precondition: precondition), Write(.verify(name), precondition: precondition),
                ] {
                    #expect(await prepare([write], alice) == .permissionDenied, "\(path) \(write)")
                }
            }
            #expect(try await !mayGet(path, alice))
        }
        #expect(await prepare([try set("lists/alice.new", owner: "alice")], alice) == nil)
        #expect(try await mayGet("lists/alice.new", alice))
    }

    @Test func `open invitations are limited`() async throws {
        let from = Caller.user(id: "alice", expires: nil, address: "alice@example.org")
        func invite(_ list: Int, _ to: String) throws -> [Write] {
            let fields: [String: Value] = [
                "from": "alice", "to": .string(to), "listId": .string("alice.\(list)"), "listName": "L",
                "fromName": "alice@example.org", "toName": .string(to),
                "createdTime": .timestamp(Timestamp(microseconds: 1)),
            ]
            return [
                try set("lists/alice.\(list)", owner: "alice"),
                Write(.update(try name("invitations/alice.\(to).alice.\(list)"), fields: fields)),
            ]
        }
        for number in 0..<Invitation.limitBetween {
            let writes = try invite(number, "bob")
            #expect(await prepare(writes, from) == nil)
            #expect(await mayCommit([writes[0]], from))
            #expect(await mayCommit([writes[1]], from))
            #expect(await !mayCommit([writes[1]], .user(id: "alice", expires: nil)), "an anonymous account")
        }
        #expect(await prepare(try invite(99, "bob"), from) == .resourceExhausted)
        for number in Invitation.limitBetween..<Invitation.limitFrom {
            _ = try await store.commit(try invite(number, "user\(number)"))
        }
        #expect(await prepare(try invite(100, "carol"), from) == .resourceExhausted)
    }
}
