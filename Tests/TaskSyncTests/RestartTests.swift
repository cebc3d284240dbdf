import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import ObjectStorage
import SQLite
import Simulation
import SystemIO
import SystemTestKit
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// What was done while no process ran, or what the last one left undone.
@Suite(.serialized) struct RestartTests {
    @Test func `a refused change is reported after a restart, and gives way to the mended file`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let home = try TemporaryDirectory()
        func machine() async throws -> Machine {
            try await Machine(
                store, home: home,
                refusing: { write in
                    guard case .update(_, let fields) = write.operation else { return false }
                    return fields["notes"]?.stringValue?.contains("refuses") == true
                })
        }
        let first = try await machine()
        let desk = try await Machine(store)
        try first.write("Trip.md", "go\n")
        #expect(await desk.has("Trip.md", "go\n"))
        #expect(await first.eventually { (try? await first.sync.isSettled()) == true })
        try first.write("Trip.md", "what the remote refuses\n")
        func isReported(_ machine: Machine) async -> Bool {
            await machine.eventually { await machine.sync.allProblems.contains { $0.code == "refused" } }
        }
        #expect(await isReported(first))
        await first.stop()
        let next = try await machine()
        #expect(await isReported(next))
        try next.write("Trip.md", "mended\n")
        #expect(await desk.has("Trip.md", "mended\n"))
        #expect(await next.eventually { await next.sync.allProblems.isEmpty })
        await next.stop()
        await desk.stop()
    }

    @Test func `a file that its document has no room for is left alone until it is shorter`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Trip.md", "go\n")
        #expect(await desk.has("Trip.md", "go\n"))
        let head = "---\n" + (0..<300).map { "key\($0): \(String(repeating: "v", count: 200))\n" }.joined() + "---\n"
        try laptop.write("Trip.md", head + String(repeating: "words\n", count: 155_000))
        #expect(await laptop.eventually { await laptop.sync.allProblems.contains { $0.code == "too-large" } })
        #expect(try await laptop.client.pendingMutations().isEmpty)
        try laptop.write("Trip.md", head + "short\n")
        #expect(await desk.has("Trip.md", head + "short\n"))
        #expect(await laptop.eventually { await laptop.sync.allProblems.isEmpty })
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a file that is too large, and moves into a new directory, is not deleted`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("a.md", "a\n")
            #expect(await desk.has("a.md", "a\n"))
            try laptop.write("a.md", String(repeating: "x", count: 1 << 20) + "\n")
            #expect(await laptop.eventually { await laptop.sync.allProblems.contains { $0.code == "too-large" } })
            mkdir(laptop.path("Home"), 0o700)
            laptop.rename("a.md", to: "Home/a.md")
            #expect(await laptop.eventually { await laptop.sync.task(atPath: "Home/a.md") != nil })
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            try laptop.write("Home/a.md", "b\n")
            for machine in [laptop, desk] {
                #expect(await machine.has("Home/a.md", "b\n"))
                let isMended = await machine.eventually { await machine.sync.allProblems.isEmpty }
                let problems = await machine.sync.allProblems
                #expect(isMended, "\(problems)")
                #expect(await machine.sync.catalog.trashed.isEmpty)
            }
        }
    }

    @Test func `a file is not deleted that moves into a list just before a link takes its place`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("a.md", "a\n")
            try laptop.write("Home/b.md", "b\n")
            #expect(await desk.has("a.md", "a\n"))
            #expect(await desk.has("Home/b.md", "b\n"))
            laptop.rename("a.md", to: "Home/a.md")
            laptop.rename("Home", to: "../aside")
            symlink("/", laptop.path("Home"))
            #expect(await laptop.eventually { await laptop.sync.allProblems.contains { $0.subject == "Home" } })
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            for machine in [laptop, desk] { #expect(await machine.sync.catalog.trashed.isEmpty) }
            unlink(laptop.path("Home"))
            laptop.rename("../aside", to: "Home")
            #expect(await desk.has("Home/a.md", "a\n"))
            #expect(await desk.lacks("a.md"))
            #expect(await laptop.eventually { await laptop.sync.allProblems.isEmpty })
        }
    }

    @Test func `a task that lost its file to a crash gets one at the next start`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let before = try await Machine(store)
        try before.write("Call Anna.md", "now\n")
        #expect(await before.eventually { await before.hasUnited(1) })
        await before.stop()
        // Between a delete that was taken back, which forgets the file, and the new file.
        let database = try SQLiteDatabase(path: "\(before.root)/replica.db")
        try database.execute("DELETE FROM sync_file", [])
        database.close()
        before.remove("Call Anna.md")
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.has("Call Anna.md", "now\n"))
        await desk.stop()
    }

    @Test func `what Ferry put into a file just before it was killed is nobody's edit`() async throws {
        func text(_ color: String) -> String { "---\ncolor: \(color)\n---\n" }
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("A.md", text("red"))
        #expect(await before.has("A.md", text("red")))
        await before.stop()
        // Between the new text and the note of it.
        let database = try SQLiteDatabase(path: "\(before.root)/replica.db")
        try database.execute(
            "INSERT INTO sync_write SELECT task, ? FROM sync_file", [.blob(Array(text("blue").utf8))])
        database.close()
        try before.write("A.md", text("blue"))
        let count = laptop.commitCount
        try laptop.write("A.md", text("green"))
        #expect(await laptop.eventually { laptop.commitCount > count })
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.has("A.md", text("green")))
        #expect(laptop.read("A.md") == text("green"))
        #expect(await desk.sync.openConflicts.isEmpty)
        await desk.stop()
        await laptop.stop()
    }

    @Test func `a machine that was off takes over what changed on both sides`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("A.md", "a\n")
        try laptop.write("B.md", "b\n")
        #expect(await before.has("A.md", "a\n"))
        #expect(await before.has("B.md", "b\n"))
        await before.stop()
        try laptop.write("A.md", "a2\n")
        try before.write("B.md", "b2\n")
        before.rename("B.md", to: "C.md")
        try before.write("New.md", "new\n")
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.has("A.md", "a2\n"))
        #expect(await laptop.has("C.md", "b2\n"))
        #expect(await laptop.lacks("B.md"))
        #expect(await laptop.has("New.md", "new\n"))
        await desk.stop()
        await laptop.stop()
    }

    @Test func `a list that is renamed while no process runs stays that list, with those within it`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let (desk, before) = (try await Machine(store), try await Machine(store))
        for name in ["Work/Inner/b.md", "Work/a.md", "Other/c.md"] {
            try before.write(name, "x\n")
            #expect(await desk.has(name, "x\n"))
        }
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        let names = await before.sync.catalog.listNames
        await before.stop()
        before.rename("Work", to: "Office")
        try before.write("Work", "a file, which no list is")
        let laptop = try await Machine(store, home: before.home)
        let renamed = names.mapValues { $0.hasPrefix("Work") ? "Office" + $0.dropFirst(4) : $0 }
        for machine in [laptop, desk] {
            for name in ["Office/Inner/b.md", "Office/a.md", "Other/c.md"] { #expect(await machine.has(name, "x\n")) }
            #expect(await machine.eventually { await machine.sync.catalog.listNames == renamed })
            #expect(await machine.sync.catalog.trashed.isEmpty)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `files that are ahead of an older state are those of their tasks, also in a renamed list`() async throws
    {
        let store = MemoryDocumentStore(Machine.database)
        let (desk, first) = (try await Machine(store), try await Machine(store))
        try first.write("Work/a.md", "a\n")
        #expect(await desk.has("Work/a.md", "a\n"))
        #expect(await first.eventually { (try? await first.sync.isSettled()) == true })
        await first.stop()
        let old = try stateFiles(of: first)
        let second = try await Machine(store, home: first.home)
        second.rename("Work", to: "Office")
        try second.write("Office/b.md", "b\n")
        try second.write("new.md", "c\n")
        for (name, text) in [("Office/a.md", "a\n"), ("Office/b.md", "b\n"), ("new.md", "c\n")] {
            #expect(await desk.has(name, text))
        }
        #expect(await second.eventually { (try? await second.sync.isSettled()) == true })
        await second.stop()
        try putBack(old)
        let laptop = try await Machine(store, home: first.home)
        for machine in [laptop, desk] {
            #expect(await machine.eventually { await machine.hasUnited(3) })
            for (name, text) in [("Office/a.md", "a\n"), ("Office/b.md", "b\n"), ("new.md", "c\n")] {
                #expect(await machine.has(name, text))
            }
            #expect(try machine.names("Office") == ["a.md", "b.md"])
        }
        await laptop.stop()
        await desk.stop()
    }

    /// The state knows neither the copy nor the task that has taken the place of `Call.md`. Its own
    /// texts say nothing about their files.
    @Test(arguments: [false, true])
    func `a file of a task that an older state does not know is not that of another one`(isReplaced: Bool)
        async throws
    {
        let (store, copies) = (MemoryDocumentStore(Machine.database), (1...5).map { "Copy \($0).md" })
        let (desk, first) = (try await Machine(store), try await Machine(store))
        try first.write("Call.md", isReplaced ? "" : "now\n")
        #expect(await desk.has("Call.md", isReplaced ? "" : "now\n"))
        #expect(await first.eventually { (try? await first.sync.isSettled()) == true })
        await first.stop()
        let old = try stateFiles(of: first)
        let second = try await Machine(store, home: first.home)
        if isReplaced {
            try second.write("Mail.md", "soon\n")
            #expect(await desk.has("Mail.md", "soon\n"))
            desk.rename("Mail.md", to: "Call.md")
            #expect(await second.has("Call.md", "soon\n"))
        } else {
            second.rename("Call.md", to: "Talk.md")
            #expect(await desk.has("Talk.md", "now\n"))
            for copy in copies { try second.write(copy, "now\n") }
            for copy in copies { #expect(await desk.has(copy, "now\n")) }
        }
        #expect(await second.eventually { (try? await second.sync.isSettled()) == true })
        let tasks = await second.sync.catalog.living.map(\.id).sorted()
        await second.stop()
        try putBack(old)
        let laptop = try await Machine(store, home: first.home, isOffline: true)
        let unknown = isReplaced ? ["Call.md"] : copies
        #expect(await laptop.eventually { await laptop.sync.allProblems.compactMap(\.subject).sorted() == unknown })
        laptop.remote.cut(false)
        await laptop.client.networkChanged()
        #expect(await laptop.eventually { await laptop.hasUnited(tasks.count) })
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        for machine in [laptop, desk] {
            #expect(await machine.eventually { await machine.sync.catalog.living.map(\.id).sorted() == tasks })
            let names = isReplaced ? ["Call.md"] : copies + ["Talk.md"]
            #expect(try machine.names("").filter { $0.hasSuffix(".md") } == names)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a lost state and a directory that is there make no duplicates and no deletes`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        for number in 1...15 { try laptop.write("T\(number).md", "---\ncustom: x\n---\n\(number)\n") }
        #expect(await before.eventually { (1...15).allSatisfy { before.read("T\($0).md") != nil } })
        await before.stop()
        for suffix in ["", "-wal", "-shm"] { unlink("\(before.root)/replica.db\(suffix)") }
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.eventually { await desk.hasUnited(15) })
        try laptop.write("T1.md", "---\ncustom: x\n---\nchanged\n")
        #expect(await desk.has("T1.md", "---\ncustom: x\n---\nchanged\n"))
        #expect(await laptop.sync.catalog.count == 15)
        await desk.stop()
        await laptop.stop()
    }

    @Test func `binding anew brings missing files back and deletes nothing`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        for number in 1...3 { try laptop.write("T\(number).md", "\(number)\n") }
        #expect(await before.eventually { (1...3).allSatisfy { before.read("T\($0).md") != nil } })
        mkdir(laptop.path("Later"), 0o700)
        #expect(await before.eventually { await before.sync.lists.paths.count == 1 })
        await before.stop()
        rename("\(before.root)/Tasks", "\(before.root)/Elsewhere")
        mkdir("\(before.root)/Tasks", 0o700)
        try before.write("T9.md", "9\n")
        let desk = try await Machine(store, home: before.home, rebinds: true)
        #expect(await desk.eventually { (1...3).allSatisfy { desk.read("T\($0).md") == "\($0)\n" } })
        #expect(await laptop.has("T9.md", "9\n"))
        #expect(await laptop.sync.catalog.count == 4)
        #expect(await desk.eventually { await desk.sync.lists.paths.count == 1 })
        #expect(await laptop.sync.catalog.listNames.map(\.value) == ["Later"])
        await desk.stop()
        await laptop.stop()
    }

    @Test func `binding anew brings missing attachments back`() async throws {
        let (store, objects) = (MemoryDocumentStore(Machine.database), MemoryObjectStore())
        let laptop = try await Machine(store, objects: objects)
        let before = try await Machine(store, objects: objects)
        try laptop.write("Trip.md", "go\n")
        try laptop.write("Trip.files/ticket.txt", "seat 12\n")
        #expect(await before.has("Trip.files/ticket.txt", "seat 12\n"))
        await before.stop()
        before.remove("Trip.files/ticket.txt")
        rmdir(before.path("Trip.files"))
        let desk = try await Machine(store, objects: objects, home: before.home, rebinds: true)
        #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
        #expect(laptop.read("Trip.files/ticket.txt") == "seat 12\n")
        await desk.stop()
        await laptop.stop()
    }

    @Test func `a directory that is not the known one is held, and nothing is deleted`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let laptop = try await Machine(store)
        let before = try await Machine(store)
        try laptop.write("Keep.md", "me\n")
        #expect(await before.has("Keep.md", "me\n"))
        await before.stop()
        rename("\(before.root)/Tasks", "\(before.root)/Elsewhere")
        mkdir("\(before.root)/Tasks", 0o700)
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.eventually { await desk.sync.rootHold?.code == "root-unmarked" })
        #expect(laptop.read("Keep.md") == "me\n")
        rmdir("\(desk.root)/Tasks")
        rename("\(desk.root)/Elsewhere", "\(desk.root)/Tasks")
        #expect(await desk.eventually { await desk.sync.rootHold == nil })
        try desk.write("Keep.md", "you\n")
        #expect(await laptop.has("Keep.md", "you\n"))
        await desk.stop()
        await laptop.stop()
    }

    /// While nothing ran, `Old.md` was deleted, `Call.md` got its name, and was copied: the copy is found before the known name.
    @Test func `a copy is no task that its identifier shows under a known name`() async throws {
        let (store, disk) = (MemoryDocumentStore(Machine.database), MemoryDisk())
        try disk.write("Call.md", Array("now\n".utf8))
        try disk.write("Old.md", Array("old\n".utf8))
        let before = try await Machine(store, disk: disk)
        #expect(await before.eventually { await before.hasUnited(2) })
        let task = try #require(await before.sync.task(atPath: "Call.md"))
        let deleted = try #require(await before.sync.task(atPath: "Old.md"))
        await before.stop()
        try disk.rename("Call.md", to: "Old.md", .replacing)
        try disk.write("Copy.md", Array("now\n".utf8))
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Old.md" })
        #expect(await machine.eventually { await machine.sync.catalog.trashed.map(\.id) == [deleted] })
        #expect(await machine.eventually { await machine.sync.catalog.count == 2 })
        #expect(await machine.sync.task(atPath: "Copy.md") != nil)
        await machine.stop()
    }

    /// Its attributes were not copied: only the text tells.
    @Test func `a copy continues the task whose file was replaced by another one`() async throws {
        let (store, disk) = (MemoryDocumentStore(Machine.database), MemoryDisk())
        try disk.write("Call.md", Array("now\n".utf8))
        try disk.write("Mail.md", Array("later\n".utf8))
        let before = try await Machine(store, disk: disk)
        #expect(await before.eventually { await before.hasUnited(2) })
        let call = try #require(await before.sync.task(atPath: "Call.md"))
        let mail = try #require(await before.sync.task(atPath: "Mail.md"))
        await before.stop()
        try disk.write("Copy.md", Array("now\n".utf8))
        try disk.rename("Mail.md", to: "Call.md", .replacing)
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.sync.path(ofTask: call) == "Copy.md" })
        #expect(await machine.eventually { await machine.sync.path(ofTask: mail) == "Call.md" })
        #expect(await machine.sync.catalog.count == 2)
        await machine.stop()
    }

    /// Its number is another one's, as where it was copied with its attributes and removed: only the identifier tells.
    @Test func `a file is its task's where its old name went to another known one`() async throws {
        let (store, disk) = (MemoryDocumentStore(Machine.database), MemoryDisk())
        try disk.write("Call.md", Array("now\n".utf8))
        try disk.write("Mail.md", Array("later\n".utf8))
        let before = try await Machine(store, disk: disk)
        #expect(await before.eventually { await before.hasUnited(2) })
        let call = try #require(await before.sync.task(atPath: "Call.md"))
        let mail = try #require(await before.sync.task(atPath: "Mail.md"))
        await before.stop()
        try disk.write("Copy.md", Array("now\n".utf8))
        for attribute in try disk.attributes("Call.md") { _ = try disk.setAttribute("Copy.md", attribute, of: nil) }
        try disk.rename("Mail.md", to: "Call.md", .replacing)
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.sync.path(ofTask: call) == "Copy.md" })
        #expect(await machine.eventually { await machine.sync.path(ofTask: mail) == "Call.md" })
        #expect(await machine.sync.catalog.count == 2)
        await machine.stop()
    }
}

/// Returns the files of a machine's state, with their contents; nil for those that are absent.
private func stateFiles(of machine: Machine) throws -> [(path: String, bytes: [UInt8]?)] {
    try ["", "-wal", "-shm"].map { "\(machine.root)/replica.db\($0)" }.map {
        (path: $0, bytes: try FileSystem.readIfPresent($0))
    }
}

private func putBack(_ files: [(path: String, bytes: [UInt8]?)]) throws {
    for file in files {
        unlink(file.path)
        if let bytes = file.bytes { try FileSystem.replace(file.path, with: bytes) }
    }
}
