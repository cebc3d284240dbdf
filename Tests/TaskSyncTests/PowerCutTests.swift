import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import SQLite
import Synchronization
import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// What a power cut leaves, and a process that was cut off, on disks that are not well otherwise.
@Suite(.serialized) struct PowerCutTests {
    private let store = MemoryDocumentStore(Machine.database)

    /// A file that is in step was empty when the machine started again, where the disk had no room to fill it; it may have got
    /// another name before the cut.
    @Test(arguments: ["Call.md", "Call Anna.md"])
    func `a file that could not be filled at once was not emptied by its user`(name: String) async throws {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        try disk.write("Mark.md", Array("soon\n".utf8))
        let before = try await Machine(store, disk: disk)
        let other = try await Machine(store)
        #expect(await other.has("Call.md", "now\n"))
        #expect(await other.has("Mark.md", "soon\n"))
        let task = try #require(await before.sync.task(atPath: "Call.md"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        if name != "Call.md" { try disk.rename("Call.md", to: name, .exclusive) }
        try disk.save(name, [])
        disk.setCapacity(0)
        let machine = try await Machine(store, home: before.home, disk: disk)
        // What comes from elsewhere finds the file changed, too.
        #expect(await machine.eventually { await machine.sync.unfilled.keys.contains(task) })
        var edit = TaskEdit()
        edit.addTags = ["phone"]
        try await other.sync.edit(task, edit)
        #expect(await machine.eventually { (try? await machine.sync.detail(task).item.tags) == ["phone"] })
        // One that its user empties now counts as emptied, after as long as an editor may leave it so.
        try disk.save("Mark.md", [])
        #expect(await other.has("Mark.md", ""))
        #expect(disk.text(name) == "")
        disk.setCapacity(.max)
        #expect(await other.eventually { await other.sync.path(ofTask: task) == name })
        #expect(await machine.eventually { disk.text(name) == "---\ntags: [phone]\n---\nnow\n" })
        #expect(other.read(name) == "---\ntags: [phone]\n---\nnow\n")
        await machine.stop()
        await other.stop()
    }

    /// What is empty there once it opens was not emptied by anybody.
    @Test func `a file that a power cut has emptied where nobody could look at the start gets back what it said`()
        async throws
    {
        let disk = MemoryDisk()
        try disk.makeDirectories("Home")
        try disk.write("Home/Call.md", Array("now\n".utf8))
        try disk.write("Home/Mark.md", Array("soon\n".utf8))
        let before = try await Machine(store, disk: disk)
        let other = try await Machine(store)
        #expect(await other.has("Home/Call.md", "now\n"))
        #expect(await other.has("Home/Mark.md", "soon\n"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        try disk.save("Home/Call.md", [])
        try disk.setMode("Home", 0)
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.sync.allProblems.contains { $0.subject == "Home" } })
        try disk.setMode("Home", 0o755)
        #expect(await machine.eventually { disk.text("Home/Call.md") == "now\n" })
        // As far as anybody could look, what its user empties is emptied.
        try disk.save("Home/Mark.md", [])
        #expect(await other.has("Home/Mark.md", ""))
        #expect(other.read("Home/Call.md") == "now\n")
        await machine.stop()
        await other.stop()
    }

    /// Only a start of the machine comes with files that a power cut has left empty.
    @Test(arguments: [true, false])
    func
        `a file that its user empties while the daemon is off stays empty, and is filled and reported after a new boot`(
            isSameBoot: Bool
        ) async throws
    {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let before = try await Machine(store, disk: disk, bootID: "one")
        let other = try await Machine(store)
        #expect(await other.has("Call.md", "now\n"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        try disk.save("Call.md", [])
        let machine = try await Machine(store, home: before.home, disk: disk, bootID: isSameBoot ? "one" : "two")
        if isSameBoot {
            #expect(await other.has("Call.md", ""))
            #expect(disk.text("Call.md") == "")
        } else {
            #expect(await machine.eventually { disk.text("Call.md") == "now\n" })
            #expect(await machine.eventually { await machine.sync.allProblems.map(\.code) == ["emptied"] })
            #expect(other.read("Call.md") == "now\n")
            // Once more, it is meant.
            try disk.save("Call.md", [])
            #expect(await other.has("Call.md", ""))
        }
        #expect(await machine.eventually { await machine.sync.allProblems.isEmpty })
        await machine.stop()
        await other.stop()
    }

    /// Which a power cut has left empty.
    @Test func `a new file with the name of a known one is not filled with what that says under its new name`()
        async throws
    {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let before = try await Machine(store, disk: disk)
        #expect(await before.eventually { await before.hasUnited(1) })
        let task = try #require(await before.sync.task(atPath: "Call.md"))
        await before.stop()
        try disk.rename("Call.md", to: "Anna.md", .exclusive)
        try disk.write("Call.md", [])
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(2) })
        #expect(await machine.sync.path(ofTask: task) == "Anna.md")
        #expect(disk.text("Anna.md") == "now\n")
        #expect(disk.text("Call.md") == "")
        await machine.stop()
    }

    /// Made by its user, and taken for the list's by a process that was cut off before it noted which tasks wait for it.
    @Test func `tasks that came before their list go to a directory that the last run found`() async throws {
        let desk = try await Machine(store)
        let laptop = try await Machine(store)
        try laptop.write("Call.md", "now\n")
        #expect(await desk.has("Call.md", "now\n"))
        let task = try #require(await desk.sync.task(atPath: "Call.md"))
        let list = try #require(ListIndex.ids(named: "Work", of: UserID("alice")).first)
        try await laptop.client.merge(laptop.sync.name(of: task), [FieldPath(key: "listId"): .string(list.rawValue)])
        #expect(await desk.eventually { await desk.sync.catalog[task]?.list == list })
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        await desk.stop()
        mkdir(desk.path("Work"), 0o700)
        let state = try SQLiteDatabase(path: "\(desk.root)/replica.db")
        try state.execute("INSERT INTO sync_list VALUES (?1, 'Work', row_sum(?1, 'Work'))", [.id(list)])
        state.close()
        try laptop.write("Work/Mark.md", "soon\n")
        let again = try await Machine(store, home: desk.home)
        #expect(await again.has("Work/Mark.md", "soon\n"))
        #expect(await again.has("Work/Call.md", "now\n"))
        await laptop.stop()
        await again.stop()
    }

    @Test
    func `what a run has put into a file before it was cut off is nobody's, also where somebody has edited that since`()
        async throws
    {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let before = try await Machine(store, disk: disk)
        let other = try await Machine(store)
        #expect(await other.has("Call.md", "now\n"))
        let task = try #require(await before.sync.task(atPath: "Call.md"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        try await before.client.transaction { transaction in
            try SyncTables(transaction).announce([(task, Array("---\ntags: [phone]\n---\nnow\n".utf8))])
        }
        await before.stop()
        try disk.save("Call.md", Array("---\ntags: [phone]\npriority: low\n---\nnow\n".utf8))
        var edit = TaskEdit()
        edit.addTags = ["phone"]
        try await other.sync.edit(task, edit)
        edit = TaskEdit()
        edit.removeTags = ["phone"]
        try await other.sync.edit(task, edit)
        #expect(await other.has("Call.md", "now\n"))
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await other.has("Call.md", "---\npriority: low\n---\nnow\n"))
        #expect(await machine.eventually { disk.text("Call.md") == "---\npriority: low\n---\nnow\n" })
        await machine.stop()
        await other.stop()
    }

    /// Cut off after the exchange of the two files, and before it had noted which one is there.
    @Test func `a file that a run has put there before it was cut off is known by its mark under another name, too`()
        async throws
    {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let before = try await Machine(store, disk: disk)
        #expect(await before.eventually { await before.hasUnited(1) })
        let task = try #require(await before.sync.task(atPath: "Call.md"))
        let text = Array("---\ntags: [phone]\n---\nnow\n".utf8)
        try await before.client.transaction { try SyncTables($0).announce([(task, text)]) }
        await before.stop()
        let put = try disk.writeTemporary(
            in: "", text, mode: nil, attributes: disk.attributes("Call.md"), synchronize: true)
        try disk.rename(put, to: "Anna.md", .exclusive)
        try disk.remove("Call.md")
        try disk.write("Call.md", Array("new\n".utf8))
        let machine = try await Machine(store, home: before.home, disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(2) })
        #expect(await machine.sync.path(ofTask: task) == "Anna.md")
        #expect(try await machine.sync.detail(task).item.notes == "now\n")
        await machine.stop()
    }

    @Test func `a file that is out of reach with the whole directory when it is read is read when that is back`()
        async throws
    {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
        let isAway = Mutex(false)
        disk.setFault { [unowned disk] operation, path in
            guard path == "Call.md", operation == "read",
                isAway.withLock({ isAway in
                    defer { isAway = true }
                    return !isAway
                })
            else { return nil }
            disk.setRootMissing(true)
            return nil
        }
        try disk.write("Call.md", Array("now\n".utf8))
        #expect(await machine.eventually { await machine.sync.rootHold?.code == "root-missing" })
        disk.setRootMissing(false)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        await machine.stop()
    }

    @Test func `a command that finds the directory away changes nothing`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.write("Call.md", Array("now\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.task(atPath: "Call.md"))
        disk.setRootMissing(true)
        var edit = TaskEdit()
        edit.title = "Write"
        await #expect(throws: TaskSyncError.self) { try await machine.sync.edit(task, edit) }
        await #expect(throws: TaskSyncError.self) { try await machine.sync.remove([task]) }
        disk.setRootMissing(false)
        try await machine.sync.rescanNow()
        try await machine.sync.edit(task, edit)
        #expect(await machine.eventually { disk.text("Write.md") == "now\n" })
        await machine.stop()
    }
}

extension MemoryDisk {
    fileprivate func text(_ path: String) -> String? {
        (try? read(path, limit: .max).bytes).map { String(decoding: $0, as: UTF8.self) }
    }
}
