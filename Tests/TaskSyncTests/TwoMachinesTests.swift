import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import SQLite
import Simulation
import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Two machines of one user, with real directories and replicas and a remote in memory.
@Suite(.serialized) struct TwoMachinesTests {
    @Test func `a file, its edits, its name and its end travel`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Buy milk.md", "---\npriority: high # now\n---\nOat.\n")
            #expect(await desk.has("Buy milk.md", "---\npriority: high # now\n---\nOat.\n"))
            try desk.write("Buy milk.md", "---\npriority: low # soon\n---\nOat.\n")
            #expect(await laptop.has("Buy milk.md", "---\npriority: low # soon\n---\nOat.\n"))
            desk.rename("Buy milk.md", to: "Buy oat milk.md")
            #expect(await laptop.has("Buy oat milk.md", "---\npriority: low # soon\n---\nOat.\n"))
            #expect(await laptop.lacks("Buy milk.md"))
            laptop.remove("Buy oat milk.md")
            #expect(await desk.lacks("Buy oat milk.md"))
        }
    }

    @Test func `a name that the user chose travels beside the title`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("t1.md", "---\ntitle: Call Anna\nid: 7 # mine\n---\n")
            #expect(await desk.has("t1.md", "---\ntitle: Call Anna\nid: 7 # mine\n---\n"))
            desk.rename("t1.md", to: "anna.md")
            #expect(await laptop.has("anna.md", "---\ntitle: Call Anna\nid: 7 # mine\n---\n"))
            #expect(await laptop.lacks("t1.md"))
            #expect(await laptop.eventually { await laptop.sync.catalog.living.map(\.title) == ["Call Anna"] })
        }
    }

    @Test func `lists are directories`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Work/Ship.md", "now\n")
            #expect(await desk.has("Work/Ship.md", "now\n"))
            desk.rename("Work", to: "Office")
            #expect(await laptop.has("Office/Ship.md", "now\n"))
            #expect(await laptop.eventually { access(laptop.path("Work"), F_OK) != 0 })
            laptop.rename("Office/Ship.md", to: "Ship.md")
            #expect(await desk.has("Ship.md", "now\n"))
            #expect(await desk.lacks("Office/Ship.md"))
        }
    }

    @Test func `of two lists of one name the older one has its directory, on every machine`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Work/Ship.md", "now\n")
            #expect(await desk.has("Work/Ship.md", "now\n"))
            // The desk renames it; the laptop hears of that, and makes another one.
            desk.rename("Work", to: "Office")
            #expect(await laptop.has("Office/Ship.md", "now\n"))
            try laptop.write("Shed/Mend.md", "soon\n")
            #expect(await desk.has("Shed/Mend.md", "soon\n"))
            let lists = await laptop.sync.catalog.listNames
            let office = try #require(lists.first { $0.value == "Office" }?.key)
            let name = try DocumentName(list: office, in: Machine.database)
            let shed = try #require(await laptop.sync.catalog.listNames.first { $0.value == "Shed" }?.key)
            let other = try DocumentName(database: Machine.database, collection: "lists", id: shed.rawValue)
            try await laptop.client.merge(other, [FieldPath(key: "name"): .string("Work")])
            try await laptop.client.merge(name, [FieldPath(key: "name"): .string("Work")])
            for machine in [laptop, desk] {
                #expect(await machine.has("Work/Ship.md", "now\n"))
                #expect(await machine.has("Work (2)/Mend.md", "soon\n"))
            }
            try await desk.client.merge(name, [FieldPath(key: "name"): .string("Shop")])
            for machine in [laptop, desk] {
                #expect(await machine.has("Shop/Ship.md", "now\n"))
                #expect(await machine.has("Work/Mend.md", "soon\n"))
            }
        }
    }

    @Test func `edits made apart are merged, and what gave way is a conflict that can be taken back`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("List.md", "---\npriority: low\n---\na\nb\nc\nd\ne\n")
            #expect(await desk.has("List.md", "---\npriority: low\n---\na\nb\nc\nd\ne\n"))
            laptop.remote.cut(true)
            desk.remote.cut(true)
            try laptop.write("List.md", "---\npriority: high\n---\nA\nb\nc\nd\ne\n")
            try desk.write("List.md", "---\npriority: medium\n---\na\nb\nc\nd\nE\n")
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().count == 1 })
            #expect(try await desk.eventually { try await desk.client.pendingMutations().count == 1 })
            laptop.remote.cut(false)
            await laptop.client.networkChanged()
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
            desk.remote.cut(false)
            await desk.client.networkChanged()
            // Desk's change is ordered later, so its priority stands.
            #expect(await laptop.has("List.md", "---\npriority: medium\n---\nA\nb\nc\nd\nE\n"))
            #expect(await desk.has("List.md", "---\npriority: medium\n---\nA\nb\nc\nd\nE\n"))
            #expect(try await laptop.eventually { try await laptop.sync.conflicts().count == 1 })
            let conflict = try #require(try await laptop.sync.conflicts().first)
            #expect(conflict.field == "priority" && conflict.displaced == .integer(0))
            try await laptop.sync.resolve([conflict.id], takingDisplaced: true)
            #expect(await desk.has("List.md", "---\npriority: high\n---\nA\nb\nc\nd\nE\n"))
            #expect(try await desk.eventually { try await desk.sync.conflicts().isEmpty })
        }
    }

    @Test func `an edit survives a delete made apart`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Note.md", "one\n")
            #expect(await desk.has("Note.md", "one\n"))
            desk.remote.cut(true)
            try desk.write("Note.md", "two\n")
            #expect(try await desk.eventually { try await desk.client.pendingMutations().count == 1 })
            laptop.remove("Note.md")
            #expect(await laptop.eventually { await laptop.sync.catalog.count == 0 })
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
            desk.remote.cut(false)
            await desk.client.networkChanged()
            #expect(await laptop.has("Note.md", "two\n"))
            #expect(await desk.has("Note.md", "two\n"))
        }
    }

    @Test func `an edit survives a delete of a file that did not say it yet`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Note.md", "one\n")
            #expect(await desk.has("Note.md", "one\n"))
            await desk.sync.setPaused(true)
            try laptop.write("Note.md", "two\n")
            let task = try #require(await desk.sync.catalog.living.map(\.id).first)
            let name = try DocumentName(task: task, in: Machine.database)
            while case let (known, last) = try await desk.client.reading({ (try $0.document(name), $0.latestSequence) }),
                known["notes"] != .string("two\n")
            {
                try await desk.client.waitForChanges(after: last)
            }
            desk.remove("Note.md")
            await desk.sync.setPaused(false)
            #expect(await desk.has("Note.md", "two\n"))
            #expect(try await desk.eventually { try await desk.client.pendingMutations().isEmpty })
            #expect(laptop.read("Note.md") == "two\n")
            desk.remove("Note.md")
            #expect(await laptop.lacks("Note.md"))
        }
    }

    @Test func `many deletes at once are held, and files that come back cancel theirs`() async throws {
        try await withMachines { laptop, desk in
            for number in 1...30 { try laptop.write("Task \(number).md", "\(number)\n") }
            #expect(await desk.has("Task 30.md", "30\n"))
            #expect(await desk.eventually { (1...30).allSatisfy { desk.read("Task \($0).md") != nil } })
            for number in 1...20 { laptop.remove("Task \(number).md") }
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 20 })
            try laptop.write("Task 25.md", "edited\n")
            #expect(await desk.has("Task 25.md", "edited\n"))
            #expect((1...30).allSatisfy { desk.read("Task \($0).md") != nil })
            try laptop.write("Task 1.md", "1\n")
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 19 })
            let held = await laptop.sync.heldDeletes.map(\.entry.id)
            try await laptop.sync.restoreDeletes(Array(held.prefix(9)))
            #expect(await laptop.eventually { (1...30).count { laptop.read("Task \($0).md") != nil } == 20 })
            try await laptop.sync.approveDeletes(Array(held.suffix(10)))
            #expect(await desk.eventually { (1...30).count { desk.read("Task \($0).md") != nil } == 20 })
        }
    }

    @Test func `a held delete gives way to a new name from elsewhere, under which the file comes back`() async throws {
        try await withMachines { laptop, desk in
            for number in 1...12 { try laptop.write("Task \(number).md", "\(number)\n") }
            #expect(await desk.eventually { (1...12).allSatisfy { desk.read("Task \($0).md") != nil } })
            for number in 1...12 { laptop.remove("Task \(number).md") }
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            desk.rename("Task 1.md", to: "Tour.md")
            #expect(await laptop.has("Tour.md", "1\n"))
            #expect(await laptop.sync.heldDeletes.count == 11)
            // The old name is free for another task.
            try desk.write("Task 1.md", "new\n")
            #expect(await laptop.has("Task 1.md", "new\n"))
            try await laptop.sync.restoreDeletes(laptop.sync.heldDeletes.map(\.entry.id))
            #expect(await laptop.has("Task 12.md", "12\n"))
        }
    }

    @Test func `nothing of the tasks directory is open while syncing is paused, so that it can be unmounted`()
        async throws
    {
        try await withMachines { laptop, desk in
            try laptop.write("Note.md", "one\n")
            #expect(await desk.has("Note.md", "one\n"))
            #expect(await laptop.sync.folder.isOpen)
            await laptop.sync.setPaused(true)
            // What the status asks for.
            _ = try await laptop.sync.recovered()
            #expect(await laptop.eventually { await !laptop.sync.folder.isOpen })
            try laptop.write("Note.md", "two\n")
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
            #expect(await desk.has("Note.md", "two\n"))
            #expect(await laptop.eventually { await !laptop.sync.folder.isOpen })
        }
    }

    @Test func `the mode of a file is its machine's own`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Run.md", "one\n")
            #expect(await desk.has("Run.md", "one\n"))
            #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
            let commits = desk.commitCount
            chmod(desk.path("Run.md"), 0o750)
            try laptop.write("Run.md", "two\n")
            #expect(await desk.has("Run.md", "two\n"))
            #expect(try FileSystem.status(desk.path("Run.md")).mode & 0o777 == 0o750)
            #expect(try FileSystem.status(laptop.path("Run.md")).mode & 0o111 == 0)
            // A change that travels shows that none went ahead of it.
            try desk.write("Other.md", "here\n")
            #expect(await laptop.has("Other.md", "here\n"))
            #expect(desk.commitCount == commits + 1)
        }
    }

    @Test func `commands and files are one`() async throws {
        try await withMachines { laptop, desk in
            var edit = TaskEdit()
            edit.title = "AC/DC tickets"
            edit.addTags = ["music"]
            edit.listName = "Fun"
            let id = try await laptop.sync.add(edit)
            #expect(laptop.read("Fun/AC-DC tickets.md") == "---\ntags: [music]\ntitle: AC/DC tickets\n---\n")
            #expect(await desk.has("Fun/AC-DC tickets.md", "---\ntags: [music]\ntitle: AC/DC tickets\n---\n"))
            #expect(await desk.eventually { await desk.sync.catalog[id] != nil })
            var done = TaskEdit()
            done.isCompleted = true
            try await desk.sync.edit(id, done)
            #expect(
                await laptop.eventually { laptop.read("Fun/AC-DC tickets.md")?.contains("completed: true") == true })
            try await laptop.sync.remove([id])
            #expect(await desk.lacks("Fun/AC-DC tickets.md"))
            #expect(await desk.eventually { await desk.sync.catalog[id]?.deletion != nil })
            try await desk.sync.restore([id])
            #expect(await laptop.eventually { laptop.read("Fun/AC-DC tickets.md") != nil })
        }
    }

    @Test func `a machine that was paused settles when it goes on`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Buy milk.md", "Oat.\n")
            #expect(await desk.has("Buy milk.md", "Oat.\n"))
            await desk.sync.setPaused(true)
            // Saved without a change: what its document says is to be looked at once more.
            try desk.write("Buy milk.md", "Oat.\n")
            #expect(await desk.eventually { await !desk.sync.retries.isEmpty })
            await desk.sync.setPaused(false)
            #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        }
    }

    @Test func `a file that was away while sync is paused is its task's when it is back`() async throws {
        try await withMachines { laptop, desk in
            await laptop.sync.setPaused(true)
            try laptop.write("Call.md", "now\n")
            #expect(await desk.has("Call.md", "now\n"))
            let task = try #require(await desk.sync.task(atPath: "Call.md"))
            try desk.write("Call.md", "soon\n")
            let name = try await laptop.sync.name(of: task)
            while case let (view, last) = try await laptop.client.reading({ (try $0.document(name), $0.latestSequence) }
            ),
                view["notes"]?.stringValue != "soon\n"
            {
                try await laptop.client.waitForChanges(after: last)
            }
            // Its delete gives way to the edit, which gets no file as long as nothing is exported.
            laptop.rename("Call.md", to: ".Call.md")
            #expect(await laptop.eventually { await laptop.sync.path(ofTask: task) == nil })
            laptop.rename(".Call.md", to: "Call.md")
            #expect(await laptop.eventually { await laptop.sync.task(atPath: "Call.md") == task })
            await laptop.sync.setPaused(false)
            // Nobody knows any more what it said when it was last in step, so that what it says is the later.
            #expect(await desk.has("Call.md", "now\n"))
            #expect(await laptop.hasDisplaced("soon\n"))
            #expect(await desk.sync.catalog.count == 1)
        }
    }

    /// The first of them leaves its name to a task that is to have it, and the name that it gets for so long is not to be the next
    /// one's.
    @Test func `three tasks of one title, of which one goes to a list, come together`() async throws {
        try await withMachines { laptop, desk in
            let titles = (1...12).map { "Task \($0)" }
            for title in titles { try laptop.write("\(title).md", "\(title)\n") }
            for title in titles { #expect(await desk.has("\(title).md", "\(title)\n")) }
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            await laptop.sync.setPaused(true)
            mkdir(desk.path("Work"), 0o700)
            for title in titles { desk.rename("\(title).md", to: "Work/\(title).md") }
            #expect(
                await desk.eventually { await desk.sync.catalog.living.allSatisfy { $0.list != nil } })
            for title in titles {
                var edit = TaskEdit()
                edit.title = title
                for _ in 1...2 { _ = try await desk.sync.add(edit) }
            }
            try await desk.client.waitForPendingWrites()
            while case let (views, last) = try await laptop.client.reading({ transaction in
                let tasks = TaskSync.localQueries(in: transaction.databaseName).tasks
                return (try transaction.documents(tasks), transaction.latestSequence)
            }), views.count < 36 {
                try await laptop.client.waitForChanges(after: last)
            }
            await laptop.sync.setPaused(false)
            #expect(
                await laptop.eventually {
                    titles.allSatisfy { title in
                        ["\(title).md", "\(title) (2).md", "Work/\(title).md"].allSatisfy { laptop.read($0) != nil }
                    }
                })
            for title in titles { #expect(laptop.read("Work/\(title).md") == "\(title)\n") }
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            #expect(try laptop.names("").filter { $0.hasSuffix(".md") }.count == 24)
            #expect(await laptop.sync.catalog.count == 36)
        }
    }

    @Test func `what cannot be read is left alone and said`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Odd.md", "fine\n")
            #expect(await desk.has("Odd.md", "fine\n"))
            try laptop.write("Odd.md", "---\nkey: [unclosed\n---\n")
            #expect(await laptop.eventually { await laptop.sync.allProblems.contains { $0.subject == "Odd.md" } })
            try laptop.write("Other.md", "goes on\n")
            #expect(await desk.has("Other.md", "goes on\n"))
            #expect(desk.read("Odd.md") == "fine\n")
            #expect(laptop.read("Odd.md") == "---\nkey: [unclosed\n---\n")
            try laptop.write("Odd.md", "mended\n")
            #expect(await desk.has("Odd.md", "mended\n"))
            #expect(await laptop.eventually { await laptop.sync.allProblems.isEmpty })
        }
    }

    @Test func `a file that makes way leaves its name to the one that it makes way for`() async throws {
        let machine = try await Machine(MemoryDocumentStore(Machine.database))
        // In this order they are written.
        let names = try ["a", "b", "c"].map {
            try DocumentName(database: Machine.database, collection: "tasks", id: $0)
        }
        @Sendable func item(_ title: String) -> [String: Value] {
            ["userId": .string("alice"), "title": .string(title), "notes": .string("\(title)\n")]
        }
        try await machine.client.transaction { try $0.append(.create(names[0], item("Tour"))) }
        try await machine.client.transaction { try $0.append(.create(names[1], item("Trip"))) }
        #expect(await machine.has("Tour.md", "Tour\n"))
        #expect(await machine.has("Trip.md", "Trip\n"))
        await machine.sync.setPaused(true)
        try await machine.client.transaction { transaction in
            try transaction.append(.merge(names[0], [FieldPath(key: "title"): .string("Trip")]))
            try TaskSync.trash("b", in: transaction)
            try transaction.append(.create(names[2], item("Trip")))
        }
        await machine.sync.setPaused(false)
        #expect(await machine.has("Trip.md", "Tour\n"))
        #expect(await machine.eventually { await machine.sync.path(ofTask: "c") == "Trip (2).md" })
        await machine.stop()
    }

    @Test func `a file of a deleted one's name that has only a line of its head is another task`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Work/Same.md", "---\ncompleted: true\n---\nold\n")
            #expect(await desk.has("Work/Same.md", "---\ncompleted: true\n---\nold\n"))
            let old = try #require(await laptop.sync.task(atPath: "Work/Same.md"))
            try await laptop.sync.withExclusiveAccess {
                laptop.remove("Work/Same.md")
                try laptop.write("Same.md", "---\ncompleted: true\n---\nnew\n")
                try await laptop.sync.rescan(isFirst: false)
            }
            #expect(await desk.has("Same.md", "---\ncompleted: true\n---\nnew\n"))
            #expect(await desk.eventually { await desk.sync.catalog.trashed.map(\.id) == [old] })
        }
    }
}
