import DocumentModel
import DocumentStore
import FirestoreProtocol
import Simulation
import TaskModel
import Testing

@testable import DocumentClient
@testable import TaskSync

/// Lists of other users, and ids that other users cannot take.
@Suite(.serialized) struct SharingTests {
    let store = MemoryDocumentStore(Machine.database)

    private func name(_ path: String) throws -> DocumentName {
        try DocumentName(database: Machine.database, path: path)
    }

    private func list(_ id: ListID, _ called: String, of owner: String, for members: [String]) throws -> Write {
        Write(
            .update(
                try name("lists/\(id)"),
                fields: [
                    "name": .string(called), "userId": .string(owner),
                    "sharedWith": .array(members.map { .string($0) }),
                ]))
    }

    @Test func `machines that make a list apart make one, with an id that nobody else can make`() async throws {
        let laptop = try await Machine(store)
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await laptop.eventually { await laptop.sync.catalog.listNames.values.contains("Work") })
        let id = try #require(await laptop.sync.catalog.listNames.keys.first)
        #expect(id == ListIndex.ids(named: "Work", of: UserID("alice")).first && id.rawValue.hasPrefix("alice."))
        #expect(ListIndex.mayMake(id, UserID("alice")) && !ListIndex.mayMake(id, UserID("ali")))
        #expect(ListIndex.mayMake("abc", UserID("ali")))
        await laptop.stop()
    }

    @Test func `a list that has a former id keeps it, and a stranger's under such an id is no list of the user's`()
        async throws
    {
        let former = try #require(ListIndex.formerIDs(named: "Work", of: UserID("alice")).first)
        let taken = try #require(ListIndex.formerIDs(named: "Home", of: UserID("alice")).first)
        _ = try await store.commit([
            try list(former, "Work", of: "alice", for: []), try list(taken, "Home", of: "eve", for: []),
        ])
        let laptop = try await Machine(store)
        #expect(await laptop.eventually { await laptop.sync.catalog.listNames == [former: "Work"] })
        try laptop.write("Work/Ship.md", "now\n")
        try laptop.write("Home/Mop.md", "soon\n")
        #expect(
            await laptop.eventually {
                await Set(laptop.sync.catalog.living.map(\.list)) == [
                    former, ListIndex.ids(named: "Home", of: UserID("alice"))[0],
                ]
            })
        #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
        for task in await laptop.sync.catalog.living {
            let found = try await store.get([name("tasks/\(task.id)")], at: .strong).documents
            #expect(try found[0].map { try Document($0) }?.fields["userId"] == "alice")
        }
        await laptop.stop()
    }

    @Test func `more shared lists than a machine follows are told, and do not stop the others`() async throws {
        let limit = 20
        let laptop = try await Machine(store, followedLists: limit)
        try laptop.write("Own.md", "mine\n")
        _ = try await store.commit(
            (0..<limit + 3).map { try list(ListID("eve.\($0)"), "L\($0)", of: "eve", for: ["alice"]) })
        #expect(await laptop.eventually { await laptop.sync.hosts.count == limit })
        #expect(await laptop.eventually { await laptop.client.currentStatus.isCurrent })
        #expect(await laptop.eventually { await laptop.sync.unfollowed.count == 3 })
        #expect(await laptop.sync.allProblems.map(\.code) == ["too-many-shared-lists"])
        #expect(await laptop.eventually { await laptop.sync.catalog.listNames.count == limit })
        let task = Write(.update(try name("tasks/t"), fields: ["title": "News", "userId": "alice"]))
        _ = try await store.commit([task])
        #expect(await laptop.has("News.md", ""))
        // Another one takes the place of one that is taken away.
        let followed = try #require(await laptop.sync.hosts.keys.min())
        _ = try await store.commit([try list(followed, "Gone", of: "eve", for: [])])
        #expect(await laptop.eventually { await laptop.sync.unfollowed.count == 2 })
        let hosts = await laptop.sync.hosts
        #expect(hosts.count == limit && hosts[followed] == nil)
        await laptop.stop()
    }

    @Test func `a refused list is told, also after a restart`() async throws {
        let laptop = try await Machine(store, refusing: { $0.name.collectionPath == "lists" })
        try laptop.write("Work/Ship.md", "now\n")
        #expect(try await laptop.eventually { try await laptop.sync.refusals().map(\.subject) == ["Work"] })
        #expect(try await laptop.sync.refusals().first?.message.contains("no lists here") == true)
        await laptop.stop()
        let again = try await Machine(store, home: laptop.home)
        #expect(try await again.sync.refusals().map(\.code) == ["refused"])
        await again.stop()
    }

    @Test func `what is remembered of shared lists holds any id`() {
        let hosts: [ListID: UserID] = ["a b": "h", "c\nmine eve": "h%20", "%": "\u{7F}", "é": "ü"].mapValues {
            UserID($0)
        }
        #expect(HostRecord.hosts(in: HostRecord.text(of: hosts)) == hosts)
        #expect(HostRecord.text(of: hosts).split(separator: "\n").count == hosts.count)
        #expect(HostRecord.hosts(in: "x y\nbroken\n a b c\n") == ["x": UserID("y")])
    }

    @Test func `a list that comes back after a delete comes back without its members`() throws {
        let document = try name("lists/l")
        let policy = RebasePolicies.tasks.policy(of: "lists")
        #expect(policy is ListRebasePolicy && policy.signatureField == "signatures")
        let base = Base.exists(
            fields: ["name": "Old", "userId": "alice", "sharedWith": .array(["bob"])],
            updateTime: Timestamp(microseconds: 1))
        let rebase = Rebase(policy: policy, replica: "r")
        let rename = Mutation.merge(document, [FieldPath(key: "name"): "New"])
        let outcome = rebase.carry(rename, from: base, to: .missing, id: "i", wasSent: false)
        guard case .changed(let again) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(again.kind == .create && again.fields == ["name": "New", "userId": "alice"])
    }
}
