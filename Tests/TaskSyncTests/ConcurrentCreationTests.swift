import DocumentModel
import DocumentStore
import Glibc
import ObjectStorage
import Simulation
import TaskModel
import Testing

@testable import DocumentClient
@testable import TaskSync

/// Two machines create a file of one name before they hear of each other.
@Suite(.serialized) struct ConcurrentCreationTests {
    // MARK: The rule

    private func common(_ file: String, _ document: String) throws -> String? {
        let other = try TaskFile(parsing: Array(document.utf8), named: "Day.md")
        let fields = FileImport.FileContents(other, named: "Day.md").fields
        return ConcurrentCreation.commonVersion(Array(file.utf8), fields, named: "Day.md").map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `of a text and one that it is contained in, the smaller one is common`() throws {
        let head = "---\npriority: high\n---\n"
        for (file, document, expected) in [
            ("# Day\n", "# Day\n", "# Day\n"), ("# Day\n", "# Day\nmilk\n", "# Day\n"),
            ("# Day\nmilk\n", "# Day\n", "# Day\n"), ("# Day\nmilk\n", "milk\n", "milk\n"), ("", "milk\n", ""),
            ("# Day", "# Day\nmilk\n", "# Day"), ("\(head)# Day\n", "# Day\n", "# Day\n"),
            ("# Day\n", "\(head)# Day\nmilk\n", "# Day\n"),
            ("\(head)# Day\n", "\(head)# Day\nmilk\n", "\(head)# Day\n"),
        ] {
            #expect(try common(file, document) == expected)
        }
    }

    @Test func `texts that each have something of their own have no common version`() throws {
        for (file, document) in [
            ("# Day\nmilk\n", "# Day\neggs\n"), ("milk\n", "milkshake\n"), ("a\nc\n", "a\nb\nc\n"),
            ("---\npriority: high\n---\n# Day\n", "---\npriority: low\n---\n# Day\nmilk\n"),
            ("---\npriority: high\n---\n", "# Day\n"),
        ] {
            #expect(try common(file, document) == nil)
        }
    }

    // MARK: What was known

    @Test func `a task that came and was not looked at yet was not known when a file was read`() async throws {
        try await withMachines { laptop, desk in
            try desk.write("Other.md", "seen\n")
            #expect(await laptop.has("Other.md", "seen\n"))
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            let (seen, current, behind) = try await laptop.client.transaction { transaction in
                let current = try TaskSync.noteCreated(["a"], at: 0, transaction).knownTime
                let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: "new")
                try transaction.append(.create(name, [:]))
                let seen = Timestamp(microseconds: 7)
                try SyncTables(transaction).setSeenTime(seen)
                let behind = try TaskSync.noteCreated(["b"], at: 0, transaction).knownTime
                for task: TaskID in ["a", "b"] { try SyncTables(transaction).setCreated(task, nil) }
                try transaction.append(.delete(name))
                return (seen, current == (try transaction.remoteTime), behind)
            }
            #expect(current)
            #expect(behind == seen)
        }
    }

    // MARK: Machines

    /// What is in one machine's new file, in the other's, and in that of the one task in the end.
    @Test(arguments: [
        ("# Day\n", "# Day\n", "# Day\n"), ("# Day\nmilk\n", "# Day\n", "# Day\nmilk\n"),
        ("# Day\n", "# Day\nmilk\n", "# Day\nmilk\n"),
        ("", "---\ntags: [a]\n---\nmilk\n", "---\ntags: [a]\n---\nmilk\n"),
    ])
    func `a note that two machines create apart is one task with what both have`(
        first: String, second: String, all: String
    ) async throws {
        try await withCutMachines { laptop, desk in
            try laptop.write("Daily/Day.md", first)
            try laptop.write("Daily/Day.files/a.txt", "of the laptop")
            #expect(await laptop.hasSent("Daily/Day.md"))
            try desk.write("Daily/Day.md", second)
            try desk.write("Daily/Day.files/b.txt", "of the desk")
            #expect(await desk.eventually { await desk.sync.task(atPath: "Daily/Day.md") != nil })
            let task = try #require(await laptop.sync.task(atPath: "Daily/Day.md"))
            desk.remote.cut(false)
            for machine in [laptop, desk] {
                #expect(await machine.has("Daily/Day.md", all))
                #expect(await machine.has("Daily/Day.files/a.txt", "of the laptop"))
                #expect(await machine.has("Daily/Day.files/b.txt", "of the desk"))
                #expect(await machine.eventually { await machine.sync.task(atPath: "Daily/Day.md") == task })
                #expect(await machine.eventually { await machine.hasUnited(2) })
                #expect(await machine.sync.catalog.trashed.isEmpty)
                #expect(await machine.eventually { (try? machine.names("Daily")) == ["Day.files", "Day.md"] })
                #expect(try await machine.sync.conflicts().isEmpty)
            }
        }
    }

    /// Two machines that have heard of each other, of which the second one is cut off.
    private func withCutMachines(_ body: (_ laptop: Machine, _ desk: Machine) async throws -> Void) async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Other.md", "seen\n")
            #expect(await desk.has("Other.md", "seen\n"))
            desk.remote.cut(true)
            try await body(laptop, desk)
        }
    }

    @Test func `what a joined task brought can be undone on both machines`() async throws {
        try await withCutMachines { laptop, desk in
            try laptop.write("Day.md", "# Day\n")
            #expect(await laptop.hasSent("Day.md"))
            try desk.write("Day.md", "# Day\nmilk\n")
            #expect(await desk.eventually { await desk.sync.task(atPath: "Day.md") != nil })
            desk.remote.cut(false)
            #expect(await laptop.has("Day.md", "# Day\nmilk\n"))
            let task = try #require(await laptop.sync.task(atPath: "Day.md"))
            #expect(await desk.eventually { await desk.sync.task(atPath: "Day.md") == task })
            _ = try await desk.sync.undo(task, isTrial: false)
            for machine in [laptop, desk] { #expect(await machine.has("Day.md", "# Day\n")) }
        }
    }

    @Test func `notes with different texts stay two`() async throws {
        try await withCutMachines { laptop, desk in
            try laptop.write("Day.md", "eggs\n")
            #expect(await laptop.hasSent("Day.md"))
            try desk.write("Day.md", "milk\n")
            #expect(await desk.eventually { await desk.sync.task(atPath: "Day.md") != nil })
            desk.remote.cut(false)
            for machine in [laptop, desk] {
                #expect(await machine.has("Day.md", "eggs\n"))
                #expect(await machine.has("Day (2).md", "---\ntitle: Day\n---\nmilk\n"))
            }
        }
    }

    @Test func `a task that was known when the file was made does not take it in`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Old.md", "# Day\n")
            #expect(await desk.has("Old.md", "# Day\n"))
            desk.remote.cut(true)
            try desk.write("Day.md", "# Day\n")
            #expect(await desk.eventually { await desk.sync.task(atPath: "Day.md") != nil })
            laptop.rename("Old.md", to: "Day.md")
            #expect(await laptop.eventually { await laptop.sync.catalog.living.map(\.title) == ["Day"] })
            #expect(await laptop.hasSent("Day.md"))
            desk.remote.cut(false)
            for machine in [laptop, desk] {
                #expect(await machine.eventually { await machine.hasUnited(2) })
                #expect(await machine.eventually { machine.read("Day (2).md") != nil })
            }
        }
    }

    @Test func `a task in the trash does not take a new file in`() async throws {
        try await withCutMachines { laptop, desk in
            try laptop.write("Day.md", "# Day\n")
            #expect(await laptop.hasSent("Day.md"))
            let task = try #require(await laptop.sync.task(atPath: "Day.md"))
            try await laptop.sync.remove([task])
            #expect(await laptop.eventually { await laptop.sync.catalog.trashed.contains { !$0.isPending } })
            try desk.write("Day.md", "# Day\n")
            #expect(await desk.eventually { await desk.sync.task(atPath: "Day.md") != nil })
            desk.remote.cut(false)
            for machine in [laptop, desk] {
                #expect(await machine.has("Day.md", "# Day\n"))
                #expect(await machine.eventually { await machine.hasUnited(2) })
                #expect(await machine.eventually { await machine.sync.catalog.trashed.map(\.id) == [task] })
            }
        }
    }

    @Test func `a task in a shared list does not take a new file in`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let desk = try await Machine(store)
        try desk.write("Daily/Other.md", "seen\n")
        #expect(await desk.hasSent("Daily/Other.md"))
        let list = try #require(await desk.sync.catalog.listNames.keys.first)
        _ = try await store.commit([
            Write(
                .update(
                    try DocumentName(database: Machine.database, path: "lists/\(list)"),
                    fields: ["sharedWith": .array([.string("eve")])]), mask: [FieldPath(key: "sharedWith")])
        ])
        #expect(await desk.eventually { await desk.sync.catalog.sharing[list] != nil })
        desk.remote.cut(true)
        try desk.write("Daily/Day.md", "# Day\n")
        #expect(await desk.eventually { await desk.sync.task(atPath: "Daily/Day.md") != nil })
        // As a member makes it, who can delete it for good later.
        _ = try await store.commit([
            Write(
                .update(
                    try DocumentName(database: Machine.database, path: "tasks/eves"),
                    fields: [
                        "title": .string("Day"), "notes": .string("# Day\n"), "userId": .string("alice"),
                        "listId": .string(list.rawValue), "createdBy": .string("eve's"),
                    ]))
        ])
        desk.remote.cut(false)
        #expect(await desk.eventually { await desk.hasUnited(3) })
        #expect(await desk.eventually { desk.read("Daily/Day (2).md") != nil })
        await desk.stop()
    }

    @Test func `a machine that is stopped between both still joins them`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("Other.md", "seen\n")
        #expect(await before.has("Other.md", "seen\n"))
        before.remote.cut(true)
        try before.write("Day.md", "# Day\n")
        #expect(await before.eventually { await before.sync.task(atPath: "Day.md") != nil })
        await before.stop()
        try laptop.write("Day.md", "# Day\nmilk\n")
        #expect(await laptop.hasSent("Day.md"))
        let desk = try await Machine(store, home: before.home)
        for machine in [laptop, desk] {
            #expect(await machine.has("Day.md", "# Day\nmilk\n"))
            #expect(await machine.eventually { await machine.hasUnited(2) })
            #expect(await machine.lacks("Day (2).md"))
        }
        await laptop.stop()
        await desk.stop()
    }
}

extension Machine {
    /// Whether the remote gets the task of a file.
    fileprivate func hasSent(_ path: String) async -> Bool {
        await eventually { [sync] in
            guard let task = await sync.task(atPath: path), let entry = await sync.catalog[task] else { return false }
            return !entry.isPending
        }
    }
}
