import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import ObjectStorage
import SQLite
import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Machines whose disks do what real ones do now and then.
@Suite(.serialized) struct BadDiskTests {
    let store = MemoryDocumentStore(Machine.database)

    @Test func `a file that moves to where nobody watches stays the same task`() async throws {
        let disk = MemoryDisk()
        disk.setWatchLimit(1)
        try disk.makeDirectories("Home")
        try disk.write("Call Anna.md", Array("now\n".utf8))
        let machine = try await Machine(store, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.rename("Call Anna.md", to: "Home/Call Anna.md", .exclusive)
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Home/Call Anna.md" })
        #expect(await machine.sync.catalog.trashed.map(\.id) == [])
        await machine.stop()
    }

    @Test func `a file that moves to where nobody watches stays the same task where another takes its name`()
        async throws
    {
        let disk = MemoryDisk()
        disk.setWatchLimit(1)
        try disk.makeDirectories("Home")
        try disk.write("Call Anna.md", Array("now\n".utf8))
        try disk.write("Trip.md", Array("go\n".utf8))
        let machine = try await Machine(store, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(2) })
        let task = try #require(await machine.sync.task(atPath: "Call Anna.md"))
        var edit = TaskEdit()
        edit.addTags = ["phone"]
        try disk.rename("Call Anna.md", to: "Home/Call Anna.md", .exclusive)
        try await machine.sync.edit(task, edit)
        try disk.rename("Trip.md", to: "Call Anna.md", .exclusive)
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Home/Call Anna.md" })
        #expect(await machine.eventually { await machine.hasUnited(2) })
        #expect(await machine.sync.catalog.count == 2)
        await machine.stop()
    }

    @Test func `a file that went where nobody can look, while watches are short, is not deleted`() async throws {
        let disk = MemoryDisk()
        disk.setWatchLimit(1)
        try disk.makeDirectories("Work/Trips")
        try disk.write("Work/Trips/Rome.md", Array("go\n".utf8))
        let machine = try await Machine(store, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.setMode("Work/Trips", 0)
        try disk.rename("Work", to: "Home", .exclusive)
        #expect(await machine.eventually { await machine.sync.allProblems.contains { $0.subject == "Home/Trips" } })
        try disk.setMode("Home/Trips", 0o755)
        try await machine.sync.rescanNow()
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Home/Trips/Rome.md" })
        #expect(await machine.sync.catalog.count == 1)
        let fields = try await machine.client.document(machine.sync.name(of: task)).fields
        #expect(fields["origins"]?.mapValue?.keys.contains("deletedTime") != true)
        await machine.stop()
    }

    @Test(arguments: [true, false]) func `a list over which something is mounted keeps its tasks`(
        isScanned: Bool
    ) async throws {
        let disk = MemoryDisk()
        try disk.makeDirectories("Work/Trips")
        for path in ["Work/Plan.md", "Work/Trips/Rome.md", "Other.md"] { try disk.write(path, Array("go\n".utf8)) }
        let machine = try await Machine(store, disk: disk)
        let desk = try await Machine(store)
        for machine in [machine, desk] { #expect(await machine.eventually { await machine.hasUnited(3) }) }
        let directory = try disk.mount(over: "Work")
        if isScanned { try await machine.sync.rescanNow() }
        try desk.write("Work/Plan.md", "go there\n")
        try desk.write("Work/Trips/Oslo.md", "go\n")
        try desk.write("Other.md", "go on\n")
        #expect(await machine.eventually { await machine.sync.allProblems.contains { $0.code == "other-file-system" } })
        @Sendable func text(_ path: String) -> String? {
            (try? disk.read(path, limit: .max)).map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        #expect(await machine.eventually { text("Other.md") == "go on\n" })
        #expect(await machine.eventually { await machine.sync.catalog.count == 4 })
        #expect(try disk.status("Work").device != disk.status("").device && text("Work/Trips/Oslo.md") == nil)
        #expect(disk.unmount(directory))
        #expect(
            await machine.eventually { text("Work/Plan.md") == "go there\n" && text("Work/Trips/Oslo.md") == "go\n" })
        #expect(await machine.eventually { await machine.sync.allProblems.isEmpty })
        for machine in [machine, desk] {
            #expect(await machine.eventually { await machine.hasUnited(4) })
            #expect(await machine.sync.catalog.trashed.isEmpty)
            await machine.stop()
        }
    }

    @Test func `a list whose directory was removed and made again while nobody watched is deleted`() async throws {
        let disk = MemoryDisk()
        try disk.makeDirectories("Work")
        for path in ["Work/Plan.md", "Other.md"] { try disk.write(path, Array("go\n".utf8)) }
        let before = try await Machine(store, disk: disk)
        #expect(await before.eventually { await before.hasUnited(2) })
        await before.stop()
        try disk.remove("Work/Plan.md")
        try disk.removeDirectory("Work")
        try disk.makeDirectories("Work")
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.sync.catalog.trashed.map(\.title) == ["Plan"] })
        #expect(await machine.sync.allProblems.isEmpty)
        await machine.stop()
    }

    @Test func `a file that is put in the place of one that is just read does not get that one's text`() async throws {
        let disk = MemoryDisk()
        try disk.write("A.md", Array("---\ncolor: red\n---\n".utf8))
        try disk.write("B.md", Array("---\ntags: [b]\n---\n".utf8))
        let machine = try await Machine(store, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(2) })
        let task = try #require(await machine.sync.task(atPath: "A.md"))
        disk.meanwhile("read the attributes of", "B.md") { try $0.rename("A.md", to: "B.md", .replacing) }
        try disk.write("B.md", Array("---\ntags: [b, c]\n---\n".utf8))
        #expect(
            await machine.eventually {
                guard await machine.sync.path(ofTask: task) == "B.md" else { return false }
                return await machine.hasUnited(1)
            })
        let fields = try await machine.client.document(machine.sync.name(of: task)).fields
        #expect(TaskItem(fields: fields).fields == ["color": .string("red")])
        #expect(TaskItem(fields: fields).tags.isEmpty)
        #expect(fields["origins"]?.mapValue?.keys.contains("fields.color") != true)
        await machine.stop()
    }

    @Test func `all moves that a crash left unrecorded are no renames by the user`() async throws {
        let before = try await Machine(store)
        let names = ["a", "b", "c"]
        for name in names {
            try before.write("\(name).md", "\(name)\n")
            #expect(await before.eventually { await before.sync.catalog.living.contains { $0.title == name } })
        }
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        let moves = try names.map { (from: try TaskPath("\($0).md"), to: try TaskPath("\($0) (2).md")) }
        try await before.sync.withExclusiveAccess { try await before.sync.announceMoves(moves) }
        await before.stop()
        for (from, to) in moves { before.rename(from.string, to: to.string) }
        let machine = try await Machine(store, home: before.home)
        #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
        #expect(await machine.sync.catalog.living.map(\.title).sorted() == names)
        for name in names { #expect(await machine.has("\(name).md", "\(name)\n")) }
        await machine.stop()
    }

    @Test func `a move that nobody can look at after a crash is noted when somebody can`() async throws {
        let disk = MemoryDisk()
        let before = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.write("Home/Trip.md", Array("go\n".utf8))
        #expect(await before.eventually { await before.hasUnited(1) })
        let task = try #require(await before.sync.catalog.living.map(\.id).first)
        let (from, to) = (try TaskPath("Home/Trip.md"), try TaskPath("Home/Tour.md"))
        try await before.sync.withExclusiveAccess { try await before.sync.announceMoves([(from, to)]) }
        await before.stop()
        try disk.rename(from.string, to: to.string, .exclusive)
        try disk.save(to.string, Array("go by bus\n".utf8), habit: .renamingOver)
        try disk.setMode("Home", 0)
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await !machine.sync.allProblems.isEmpty })
        try disk.setMode("Home", 0o755)
        #expect(await machine.eventually { (try? await machine.sync.detail(task).item.notes) == "go by bus\n" })
        // The move was not the user's, so the title stays, and the file gets the name that goes with it.
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == from.string })
        #expect(await machine.sync.catalog.living.map(\.title) == ["Trip"])
        #expect(await machine.sync.catalog.count == 1)
        await machine.stop()
    }

    @Test func `a move that nobody can look at outlives further moves and another crash`() async throws {
        let disk = MemoryDisk()
        let first = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.write("Home/Trip.md", Array("go\n".utf8))
        #expect(await first.eventually { await first.hasUnited(1) })
        let task = try #require(await first.sync.catalog.living.map(\.id).first)
        let (from, to) = (try TaskPath("Home/Trip.md"), try TaskPath("Home/Tour.md"))
        try await first.sync.withExclusiveAccess { try await first.sync.announceMoves([(from, to)]) }
        await first.stop()
        try disk.rename(from.string, to: to.string, .exclusive)
        try disk.save(to.string, Array("go by bus\n".utf8), habit: .renamingOver)
        try disk.setMode("Home", 0)
        let second = try await Machine(store, home: first.home, disk: disk)
        #expect(await second.eventually { await !second.sync.allProblems.isEmpty })
        try await second.sync.withExclusiveAccess {
            try await second.sync.announceMoves([(try TaskPath("a.md"), try TaskPath("b.md"))])
            try await second.sync.takeBackMoves()
            // It is tried again, and fails, as long as nobody can look.
            try await second.sync.announceMoves([(from, to)])
            try await second.sync.finishMoves()
        }
        #expect(await second.sync.unfinishedMoves.count == 1)
        await second.stop()
        try disk.setMode("Home", 0o755)
        let third = try await Machine(store, home: first.home, disk: disk)
        #expect(await third.eventually { (try? await third.sync.detail(task).item.notes) == "go by bus\n" })
        // It does not keep the name `to`, which only a scheduler that is quick enough shows.
        #expect(await third.eventually { await third.sync.path(ofTask: task) == from.string })
        #expect(await third.sync.catalog.living.map(\.title) == ["Trip"])
        #expect(await third.sync.catalog.count == 1)
        await third.stop()
    }

    @Test func `a directory that made way in a crash gets the name back that is its own by then`() async throws {
        let disk = MemoryDisk()
        let before = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.write("Home/Trip.md", Array("go\n".utf8))
        #expect(await before.eventually { await before.hasUnited(1) })
        let (from, to) = (try TaskPath("Home"), try TaskPath("Home (3)"))
        try await before.sync.withExclusiveAccess { try await before.sync.announceMoves([(from, to)]) }
        await before.stop()
        try disk.rename(from.string, to: to.string, .exclusive)
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { (try? disk.status("Home/Trip.md")) != nil })
        #expect(await machine.eventually { await machine.hasUnited(1) })
        #expect(await machine.sync.catalog.listNames.map(\.value) == ["Home"])
        await machine.stop()
    }

    @Test func `a file made where another was about to be written is a new task`() async throws {
        let disk = MemoryDisk()
        let before = try await Machine(store, disk: disk)
        try disk.write("Trip.md", Array("---\ntags: [bus]\n---\ngo\n".utf8))
        #expect(await before.eventually { await before.hasUnited(1) })
        let task = try #require(await before.sync.task(atPath: "Trip.md"))
        await before.stop()
        // As when the process dies between noting it and placing it. Events that it had not heard of would note it again.
        let state = try DocumentDatabase(
            path: "\(before.root)/replica.db", database: Machine.database, remote: before.remote)
        try await state.transaction { transaction in
            var row = try #require(try SyncTables(transaction).file(task))
            row.stamp = .none
            try SyncTables(transaction).put(row)
        }
        await state.close()
        try disk.remove("Trip.md")
        try disk.write("Trip.md", Array("stay\n".utf8))
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(2) })
        #expect(try await machine.sync.detail(task).item.tags == ["bus"])
        let other = try #require(await machine.sync.catalog.living.map(\.id).first { $0 != task })
        #expect(try await machine.sync.detail(other).item.notes == "stay\n")
        await machine.stop()
    }

    @Test func `a file that is made and deleted while syncing is paused is deleted`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Tour.md", Array("stay\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        await machine.sync.setPaused(true)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.sync.task(atPath: "Trip.md") != nil })
        let task = try #require(await machine.sync.task(atPath: "Trip.md"))
        try disk.remove("Trip.md")
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == nil })
        await machine.sync.setPaused(false)
        #expect(await machine.eventually { await machine.sync.catalog[task]?.deletion != nil })
        await machine.stop()
    }

    @Test func `a list that was deleted elsewhere goes when its directory can be read`() async throws {
        let disk = MemoryDisk()
        let (laptop, desk) = (try await Machine(store), try await Machine(store, disk: disk))
        try laptop.write("Home/Trip.md", "go\n")
        #expect(await desk.eventually { (try? disk.status("Home/Trip.md")) != nil })
        try disk.setMode("Home", 0)
        laptop.remove("Home/Trip.md")
        rmdir(laptop.path("Home"))
        #expect(await desk.eventually { await desk.sync.catalog.trashed.count == 1 })
        #expect(await desk.eventually { await desk.sync.catalog.listNames.isEmpty })
        try disk.setMode("Home", 0o755)
        #expect(await desk.eventually { (try? disk.status("Home")) == nil })
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a scan that does not find the directory leaves no problem behind`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Call Anna.md", Array("now\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        disk.setRootMissing(true)
        await machine.sync.changes.askForScan()
        #expect(await machine.eventually { await machine.sync.rootHold != nil })
        disk.setRootMissing(false)
        #expect(await machine.eventually { await machine.sync.allProblems.isEmpty })
        await machine.stop()
    }

    @Test func `no turn follows one in which the state file failed`() async throws {
        let machine = try await Machine(store)
        await #expect(throws: SQLiteError.self) {
            try await machine.sync.withExclusiveAccess { throw SQLiteError(code: .full, message: "The disk is full.") }
        }
        await #expect(throws: SQLiteError.self) {
            try await machine.sync.withExclusiveAccess { Issue.record("another turn") }
        }
        #expect(await machine.end() is SQLiteError)
        await machine.stop()
    }

    @Test(arguments: [["Old"], ["Old", "Other"]])
    func `a new file is not the task of a deleted one whose inode it was given`(names: [String]) async throws {
        let disk = MemoryDisk()
        disk.setReusesInodes(true)
        let (laptop, desk) = (try await Machine(store, disk: disk), try await Machine(store))
        for name in names {
            try disk.write("\(name).md", Array("\(name)\n".utf8))
            #expect(await desk.has("\(name).md", "\(name)\n"))
        }
        let old = try #require(await laptop.sync.catalog.living.first { $0.title == "Old" }?.id)
        try disk.remove("Old.md")
        try disk.write("New.md", Array("Something else\n".utf8))
        #expect(await desk.has("New.md", "Something else\n"))
        #expect(await desk.lacks("Old.md"))
        for machine in [laptop, desk] {
            #expect(await machine.eventually { await machine.sync.catalog[old]?.deletion != nil })
            #expect(await machine.sync.catalog[old]?.title == "Old")
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test(arguments: [("go\nand pack\n", true), ("pack\n", false)])
    func `a file that has just gone goes on elsewhere under its name where that says some of it`(
        text: String, isSame: Bool
    ) async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.write("Home/Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = await machine.sync.task(atPath: "Home/Trip.md")
        try disk.remove("Home/Trip.md")
        try disk.write("Trip.md", Array(text.utf8))
        #expect(await machine.eventually { await machine.sync.task(atPath: "Trip.md") != nil })
        #expect(await (machine.sync.task(atPath: "Trip.md") == task) == isSame)
        await machine.stop()
    }

    @Test func `a file that moves into what cannot be read is not deleted`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.makeDirectories("Home")
        try disk.rename("Trip.md", to: "Home/Trip.md", .exclusive)
        try disk.setMode("Home", 0)
        #expect(
            await machine.eventually {
                let isSettled = await machine.sync.changes.missingPaths.isEmpty
                return await !machine.sync.allProblems.isEmpty && isSettled
            })
        try disk.setMode("Home", 0o755)
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Home/Trip.md" })
        #expect(await machine.sync.catalog.trashed.map(\.id) == [])
        await machine.stop()
    }

    @Test func `one directory that cannot be read keeps no delete elsewhere waiting`() async throws {
        let disk = MemoryDisk()
        try disk.makeDirectories("Home/Plans")
        try disk.write("Home/In.md", Array("in\n".utf8))
        for number in 0..<9 { try disk.write("\(number).md", Array("text \(number)\n".utf8)) }
        let first = try await Machine(store, disk: disk)
        #expect(await first.eventually { await first.hasUnited(10) })
        try disk.setMode("Home", 0)
        try await first.sync.rescanNow()
        #expect(await first.sync.allProblems.map(\.code) == ["unreadable"])
        try await first.sync.rescanNow()
        await first.stop()
        try disk.remove("1.md")
        let second = try await Machine(store, home: first.home, disk: disk)
        #expect(await second.eventually { await second.sync.catalog.trashed.map(\.title) == ["1"] })
        #expect(await second.sync.allProblems.map(\.code) == ["unreadable"])
        #expect(await second.sync.catalog.living.contains { $0.title == "In" })
        await second.stop()
        // Into which another file goes meanwhile.
        try disk.setMode("Home", 0o755)
        try disk.rename("2.md", to: "Home/2.md", .exclusive)
        try disk.setMode("Home", 0)
        try disk.remove("3.md")
        let third = try await Machine(store, home: first.home, disk: disk)
        try await third.sync.rescanNow()
        #expect(await third.sync.changes.missingPaths.isEmpty)
        try disk.setMode("Home", 0o755)
        #expect(await third.eventually { await third.sync.catalog.trashed.map(\.title).sorted() == ["1", "3"] })
        #expect(await third.eventually { await third.sync.task(atPath: "Home/2.md") != nil })
        await third.stop()
    }

    @Test func `a scan does not take a file that an editor has truncated for what its user wants`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.write("Trip.md", [], closing: false)
        try await machine.sync.rescanNow()
        #expect(try await machine.sync.detail(task).item.notes == "go\n")
        // Nobody writes anything: that is what the user wants then.
        #expect(await machine.eventually { (try? await machine.sync.detail(task).item.notes) == "" })
        await machine.stop()
    }

    @Test func `a file that an editor has put in the place of a known one says whose it is`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.save("Trip.md", Array("go now\n".utf8), habit: .renamingOver)
        #expect(
            await machine.eventually {
                let attributes = (try? disk.attributes("Trip.md")) ?? []
                return attributes.map(\.value) == [Array("\(task)/alice".utf8)]
            })
        await machine.stop()
    }

    @Test func `a directory that cannot be marked at first makes no duplicates when it can`() async throws {
        let before = try await Machine(store)
        try before.write("Trip.md", "go\n")
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        let disk = MemoryDisk()
        try disk.write("Trip.md", Array("go\n".utf8))
        disk.setReadOnly(true)
        let machine = try await Machine(store, disk: disk)
        #expect(await machine.eventually { await machine.sync.rootHold?.code == "root-read-only" })
        disk.setReadOnly(false)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        #expect(await machine.sync.catalog.count == 1)
        await machine.stop()
    }

    @Test func `a file that is back after its task was deleted is that task`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.rename("Trip.md", to: "Trip.md~", .exclusive)
        #expect(await machine.eventually { await machine.sync.catalog[task]?.deletion != nil })
        try disk.rename("Trip.md~", to: "Trip.md", .exclusive)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        #expect(await machine.sync.catalog.living.map(\.id) == [task])
        #expect(await machine.sync.path(ofTask: task) == "Trip.md")
        await machine.stop()
    }

    @Test func `attachments put beside a task's new name stand beside those that follow it`() async throws {
        let objects = MemoryObjectStore()
        let (before, desk) = (try await Machine(store, objects: objects), try await Machine(store, objects: objects))
        try before.write("Trip.md", "go\n")
        for (name, text) in [("ticket", "seat 12\n"), ("map", "north\n")] {
            try before.write("Trip.files/\(name).txt", text)
            #expect(await desk.has("Trip.files/\(name).txt", text))
        }
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        before.rename("Trip.md", to: "Journey.md")
        try before.write("Journey.files/ticket.txt", "seat 13\n")
        let laptop = try await Machine(store, objects: objects, home: before.home)
        for machine in [laptop, desk] {
            #expect(await machine.has("Journey.files/ticket.txt", "seat 13\n"))
            #expect(await machine.has("Journey.files/ticket (2).txt", "seat 12\n"))
            #expect(await machine.has("Journey.files/map.txt", "north\n"))
            #expect(await machine.lacks("Trip.files/ticket.txt"))
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `attachments follow a file that was put in the place of another while nobody watched`() async throws {
        let objects = MemoryObjectStore()
        let (before, desk) = (try await Machine(store, objects: objects), try await Machine(store, objects: objects))
        try before.write("Trip.md", "go\n")
        try before.write("Trip.files/ticket.txt", "seat 12\n")
        try before.write("Old.md", "old\n")
        #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
        #expect(await desk.has("Old.md", "old\n"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        before.rename("Trip.md", to: "Old.md")
        let laptop = try await Machine(store, objects: objects, home: before.home)
        #expect(await desk.has("Old.files/ticket.txt", "seat 12\n"))
        #expect(await laptop.has("Old.files/ticket.txt", "seat 12\n"))
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a file made under the name of one that was renamed while nobody watched is another task`() async throws
    {
        let (before, desk) = (try await Machine(store), try await Machine(store))
        try before.write("Trip.md", "go\n")
        #expect(await desk.has("Trip.md", "go\n"))
        await before.stop()
        before.rename("Trip.md", to: "Tour.md")
        try before.write("Trip.md", "stay\n")
        let laptop = try await Machine(store, home: before.home)
        for machine in [laptop, desk] {
            #expect(await machine.has("Tour.md", "go\n"))
            #expect(await machine.has("Trip.md", "stay\n"))
            #expect(await machine.eventually { await machine.hasUnited(2) })
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a problem of a directory goes with it`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.setMode("Home", 0)
        #expect(await machine.eventually { await machine.sync.allProblems.map(\.subject) == ["Home"] })
        try disk.removeDirectory("Home")
        #expect(await machine.eventually { await machine.sync.allProblems.isEmpty })
        await machine.stop()
    }

    @Test func `a directory that cannot be read and moves with another one is found where it is`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.makeDirectories("Work/Sub")
        try disk.write("Work/Sub/Ship.md", Array("now\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        try disk.setMode("Work/Sub", 0)
        #expect(await machine.eventually { await machine.sync.allProblems.map(\.subject) == ["Work/Sub"] })
        try disk.rename("Work", to: "Office", .exclusive)
        // Its file as well, where somebody tried to look at that.
        #expect(
            await machine.eventually {
                let subjects = await machine.sync.allProblems.compactMap(\.subject)
                return subjects.contains("Office/Sub") && subjects.allSatisfy { $0.hasPrefix("Office/Sub") }
            })
        try disk.setMode("Office/Sub", 0o755)
        #expect(await machine.eventually { await machine.sync.allProblems.isEmpty })
        #expect(await machine.hasUnited(1))
        #expect(await machine.sync.task(atPath: "Office/Sub/Ship.md") != nil)
        await machine.stop()
    }

    @Test func `a file that goes before its directory is closed is deleted when that opens`() async throws {
        let disk = MemoryDisk()
        let (laptop, desk) = (try await Machine(store, disk: disk), try await Machine(store))
        try disk.makeDirectories("Home")
        try disk.write("Home/Call Anna.md", Array("now\n".utf8))
        #expect(await desk.has("Home/Call Anna.md", "now\n"))
        #expect(await laptop.eventually { await laptop.hasUnited(1) })
        try disk.remove("Home/Call Anna.md")
        try disk.setMode("Home", 0)
        #expect(await laptop.eventually { await !laptop.sync.allProblems.isEmpty })
        try disk.setMode("Home", 0o755)
        #expect(await desk.lacks("Home/Call Anna.md"))
        await laptop.stop()
        await desk.stop()
    }
}
