import DocumentModel
import DocumentStore
import FirestoreServer
import RulesLanguage
import Testing

@testable import AccessControl

/// An operator's rules as calls meet them.
struct WrittenRulesTests {
    private let store = MemoryDocumentStore(DatabaseName(project: "p"))
    private let alice = Caller.user(id: "alice", expires: nil, address: "alice@example.org")
    private let bob = Caller.user(id: "bob", expires: nil)

    private static let source = """
        rules_version = '2';
        service cloud.firestore {
          match /databases/{database}/documents {
            function isMember(team) {
              return exists(/databases/$(database)/documents/teams/$(team)/members/$(request.auth.uid));
            }
            match /notes/{note} {
              allow read: if resource.data.owner == request.auth.uid;
              allow create: if request.resource.data.owner == request.auth.uid
                && request.resource.data.keys().hasOnly(['owner', 'text']);
              allow update: if request.resource.data.diff(resource.data).affectedKeys().hasOnly(['text']);
            }
            match /teams/{team} {
              allow read: if isMember(team);
              allow create: if existsAfter(/databases/$(database)/documents/teams/$(team)/members/$(request.auth.uid));
              match /members/{member} { allow create: if member == request.auth.uid; }
              match /plans/{plan} { allow read, write: if isMember(team); }
            }
            match /public/{document=**} { allow read; }
          }
        }
        """

    private func policy() throws -> WrittenRules {
        let rules = try Ruleset(parsing: Self.source)
        return WrittenRules(rules: { rules }, now: { Timestamp(microseconds: 1) })
    }

    private func name(_ path: String) throws -> DocumentName { try DocumentName(database: store.database, path: path) }

    private func set(_ path: String, _ fields: [String: Value]) throws -> Write {
        Write(.update(try name(path), fields: fields))
    }

    private func commit(_ writes: [Write], _ caller: Caller) async throws -> Bool {
        let review = try await policy().review(writes, in: store, by: caller)
        defer { review.end() }
        do {
            _ = try await store.commit(
                writes, transaction: nil, guarding: CommitGuard(account: "a") { try review.check($0) })
            return true
        } catch {
            #expect((error as? DocumentStoreError)?.code == .permissionDenied)
            return false
        }
    }

    private func mayGet(_ path: String, _ caller: Caller) async throws -> Bool {
        (try? await policy().check(get: [try name(path)], asOf: nil, in: store, by: caller)) != nil
    }

    private func mayList(_ collection: String, below parent: String? = nil, _ filter: Query.Filter?, _ caller: Caller)
        async throws -> Bool
    {
        let parent = try parent.map { ParentName(try name($0)) } ?? ParentName(store.database)
        let query = Query(parent: parent, collectionID: collection, filter: filter)
        return (try? await policy().check(list: query, asOf: nil, in: store, by: caller)) != nil
    }

    @Test func ownersReadAndWrite() async throws {
        let mine: [String: Value] = ["owner": .string("alice"), "text": .string("x")]
        #expect(try await commit([try set("notes/a", mine)], alice))
        #expect(try await !commit([try set("notes/b", mine)], bob))
        #expect(try await !commit([try set("notes/b", ["owner": .string("bob"), "other": .null])], bob))
        #expect(try await mayGet("notes/a", alice))
        #expect(try await !mayGet("notes/a", bob))
        #expect(try await !mayGet("notes/a", .nobody))
        #expect(try await mayGet("notes/a", .administrator))
        #expect(try await commit([try set("notes/a", ["owner": .string("alice"), "text": .string("y")])], alice))
        #expect(try await !commit([try set("notes/a", ["owner": .string("bob"), "text": .string("y")])], alice))
        #expect(try await !commit([Write(.delete(try name("notes/a")))], alice))
        let owned = Query.Filter.field(FieldPath(key: "owner"), .equal, .string("alice"))
        #expect(try await mayList("notes", owned, alice))
        #expect(try await !mayList("notes", owned, bob))
        #expect(try await !mayList("notes", nil, alice))
    }

    /// A commit is judged by what it leaves, and its documents decide about each other.
    @Test func conditionsLookAtOtherDocuments() async throws {
        #expect(try await !commit([try set("teams/t", [:])], alice))
        #expect(try await commit([try set("teams/t", [:]), try set("teams/t/members/alice", [:])], alice))
        #expect(try await !commit([try set("teams/t/members/alice2", [:])], bob))
        #expect(try await commit([try set("teams/t/plans/p", [:])], alice))
        #expect(try await !commit([try set("teams/t/plans/p", [:])], bob))
        #expect(try await mayGet("teams/t/plans/p", alice))
        #expect(try await !mayGet("teams/t/plans/p", bob))
        #expect(try await mayList("plans", below: "teams/t", nil, alice))
        #expect(try await !mayList("plans", below: "teams/t", nil, bob))
        #expect(try await !mayList("teams", nil, alice))
    }

    @Test func onlyAdministratorsListCollections() async throws {
        let policy = try policy()
        let root = ParentName(store.database)
        await #expect(throws: DocumentStoreError.self) {
            try await policy.check(listing: root, asOf: nil, in: store, by: alice)
        }
        try await policy.check(listing: root, asOf: nil, in: store, by: .administrator)
        #expect(try await mayGet("public/a/b/c", .nobody))
        #expect(try await !mayGet("other/a", alice))
    }

    /// A past version is not readable for an account that may not read the document now.
    @Test func thePastIsJudgedByNow() async throws {
        let results = try await store.commit([try set("notes/p", ["owner": .string("alice"), "text": .string("x")])])
        _ = try await store.commit([try set("notes/p", ["owner": .string("bob"), "text": .string("x")])])
        let past = results.commitTime
        let policy = try policy()
        await #expect(throws: DocumentStoreError.self) {
            try await policy.check(get: [try name("notes/p")], asOf: past, in: store, by: alice)
        }
        await #expect(throws: DocumentStoreError.self) {
            try await policy.check(get: [try name("notes/p")], asOf: past, in: store, by: bob)
        }
    }
}
