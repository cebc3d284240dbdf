import DocumentClient
import DocumentStore
import Glibc
import Simulation
import SystemIO
import SystemTestKit
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Names stay as their user gave them on the machine that they were given on, and travel where other machines can have them.
@Suite(.serialized) struct NameTests {
    @Test func `names that differ at their ends only are files of their own on every machine`() async throws {
        try await withMachines { laptop, desk in
            let long = String(repeating: "a", count: 249)
            let names = [
                "foo.md", "foo .md", " foo.md", "foo..md", "Sub/t.md", "Sub /t.md", "Sub./t.md", "\(long)x.md",
                "\(long)y.md", "Trip.MD/t.md",
            ]
            for name in names { try laptop.write(name, "text of \(name)\n") }
            #expect(await desk.eventually { await desk.hasUnited(names.count) })
            for name in names where !name.hasPrefix("Trip.MD") {
                #expect(await desk.has(name, "text of \(name)\n"))
            }
            for name in names { #expect(await laptop.has(name, "text of \(name)\n")) }
            try desk.write("foo .md", "text of the desk\n")
            #expect(await laptop.has("foo .md", "text of the desk\n"))
            #expect(laptop.read("foo.md") == "text of foo.md\n")
        }
    }

    @Test func `a name with hidden characters stays on its machine and takes no plain name away`() async throws {
        try await withMachines { laptop, desk in
            let odd = "a\u{202E}b.md"
            try laptop.write(odd, "odd\n")
            #expect(await desk.eventually { (desk.read("a b.md") ?? "").hasSuffix("---\nodd\n") })
            #expect(await desk.eventually { await desk.sync.allProblems.map(\.code) == ["name-mapped"] })
            try laptop.write("a b.md", "plain\n")
            #expect(await desk.has("a b.md", "plain\n"))
            #expect(await desk.eventually { (desk.read("a b (2).md") ?? "").hasSuffix("---\nodd\n") })
            #expect(await desk.eventually { await desk.sync.allProblems.map(\.subject) == ["a b (2).md"] })
            #expect(laptop.read(odd) == "odd\n" && laptop.read("a b.md") == "plain\n")
            #expect(await laptop.sync.allProblems.isEmpty)
            let mapped = try #require(desk.read("a b (2).md"))
            #expect(mapped.contains("title: "))
            try desk.write("a b (2).md", mapped.replacing("odd\n", with: "from the desk\n"))
            #expect(await laptop.has(odd, "from the desk\n"))
        }
    }

    /// Ferry has written the title into the file because its name was numbered.
    @Test func `a numbered file that its user renames has its new name as its title`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Call.md", "one\n")
            #expect(await desk.has("Call.md", "one\n"))
            var edit = TaskEdit()
            edit.title = "Call"
            let task = try await laptop.sync.add(edit)
            #expect(await desk.eventually { (desk.read("Call (2).md") ?? "").contains("title: Call\n") })
            desk.rename("Call (2).md", to: "Mail.md")
            for machine in [laptop, desk] {
                #expect(await machine.has("Mail.md", ""))
                #expect(await machine.eventually { await machine.sync.catalog[task]?.title == "Mail" })
            }
            try desk.write("Mail.md", "---\ntitle: AC/DC\n---\n")
            #expect(await laptop.has("Mail.md", "---\ntitle: AC/DC\n---\n"))
            laptop.rename("Mail.md", to: "Music.md")
            #expect(await desk.has("Music.md", "---\ntitle: AC/DC\n---\n"))
            #expect(await desk.sync.catalog[task]?.title == "AC/DC")
        }
    }

    @Test func `a file that was copied ahead of its task waits for it, and is not doubled`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        #expect(await desk.eventually { await desk.client.currentStatus.isCurrent })
        desk.remote.cut(true)
        #expect(await desk.eventually { await !desk.client.currentStatus.isCurrent })
        try laptop.write("Trip.md", "go\n")
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true && laptop.commitCount > 0 })
        let task = try #require(await laptop.sync.task(atPath: "Trip.md"))
        for (name, text) in [("Trip.md", "go\n"), ("Copy.md", "new\n")] {
            // What another account's directory has is the file of no task here, also later.
            try desk.place(name, text, mark: name == "Trip.md" ? task.rawValue : "another")
        }
        #expect(
            await desk.eventually { await desk.sync.allProblems.map(\.code) == ["not-identified", "not-identified"] })
        #expect(await desk.sync.catalog.count == 0)
        desk.remote.cut(false)
        await desk.client.networkChanged()
        #expect(await desk.eventually { await desk.hasUnited(2) })
        #expect(await desk.sync.path(ofTask: task) == "Trip.md")
        #expect(await desk.eventually { await desk.sync.allProblems.isEmpty })
        #expect(await laptop.has("Copy.md", "new\n"))
        #expect(await laptop.eventually { await laptop.hasUnited(2) })
        #expect(try laptop.names("").filter { $0.hasSuffix(".md") } == ["Copy.md", "Trip.md"])
        await laptop.stop()
        await desk.stop()
    }

    @Test func `an older state does not double what was made since`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let (laptop, home) = (try await Machine(store), try TemporaryDirectory())
        let first = try await Machine(store, home: home)
        try first.write("Old.md", "old\n")
        #expect(await laptop.has("Old.md", "old\n"))
        await first.stop()
        let state = try FileSystem.read("\(home.path)/replica.db")
        let second = try await Machine(store, home: home)
        try second.write("New.md", "new\n")
        #expect(await laptop.has("New.md", "new\n"))
        let task = try #require(await laptop.sync.task(atPath: "New.md"))
        await second.stop()
        for name in ["replica.db-wal", "replica.db-shm"] { try FileSystem.remove("\(home.path)/\(name)") }
        try FileSystem.replace("\(home.path)/replica.db", with: state)
        let third = try await Machine(store, home: home)
        #expect(await third.eventually { await third.sync.path(ofTask: task) == "New.md" })
        #expect(await third.eventually { await third.hasUnited(2) })
        #expect(await laptop.eventually { await laptop.hasUnited(2) })
        await third.stop()
        await laptop.stop()
    }

    @Test(arguments: [true, false])
    func `a task that only lost states knew keeps its id, if the file names the account`(
        isNamed: Bool
    ) async throws {
        let store = MemoryDocumentStore(Machine.database)
        let (laptop, home) = (try await Machine(store), try TemporaryDirectory())
        let first = try await Machine(store, home: home)
        #expect(await first.eventually { await first.client.currentStatus.isCurrent })
        first.remote.cut(true)
        try first.write("New.md", "new\n")
        #expect(await first.eventually { await first.sync.task(atPath: "New.md") != nil })
        let task = try #require(await first.sync.task(atPath: "New.md"))
        let path = try TaskPath("New.md")
        let folder = DirectoryTaskFolder(path: "\(home.path)/Tasks")
        guard let mark = try folder.mark(path) else { return await first.stop() }
        #expect(mark == FileMark(task: task.rawValue, account: "alice"))
        await first.stop()
        // A mark of another account, and one of an earlier version, does not show whose the task is.
        if !isNamed {
            let stamp = try #require(try folder.stamp(path))
            _ = try folder.setMark(path, to: FileMark(task: task.rawValue), of: stamp)
        }
        try laptop.place("Copied.md", "new\n", mark: isNamed ? "\(task)/alice" : "\(task)/bob")
        #expect(await laptop.eventually { await laptop.sync.task(atPath: "Copied.md") != nil })
        #expect((await laptop.sync.task(atPath: "Copied.md") == task) == isNamed)
        for name in ["replica.db", "replica.db-wal", "replica.db-shm"] {
            _ = try? FileSystem.remove("\(home.path)/\(name)")
        }
        let second = try await Machine(store, home: home)
        #expect(await second.eventually { await second.sync.task(atPath: "New.md") != nil })
        let found = await second.sync.task(atPath: "New.md")
        #expect((found == task) == isNamed)
        for machine in [laptop, second] {
            #expect(await machine.eventually { await machine.hasUnited(isNamed ? 1 : 2) })
        }
        await second.stop()
        await laptop.stop()
    }
}

extension Machine {
    /// Puts a file with an attribute of Ferry's into the tasks directory.
    fileprivate func place(_ name: String, _ text: String, mark: String) throws {
        let file = try FileDescriptor(path: path("../new-file"), [.write, .create, .exclusive])
        try file.write(Array(text.utf8))
        #expect(try file.setAttribute("user.ferry.id", to: Array(mark.utf8)))
        rename("../new-file", to: name)
    }
}
