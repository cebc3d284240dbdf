import DocumentClient
import DocumentModel
import DocumentStore
import Synchronization
import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Saves that come while Ferry writes the same file.
@Suite(.serialized) struct RacingSavesTests {
    /// A machine that has made a task, and another one, on `disk`, that has its file and is at rest.
    private func pair(_ store: MemoryDocumentStore, _ disk: MemoryDisk) async throws -> (maker: Machine, other: Machine)
    {
        let (maker, other) = (try await Machine(store), try await Machine(store, disk: disk))
        try maker.write("Call.md", "now\n")
        #expect(await other.eventually { (try? disk.status("Call.md")) != nil })
        #expect(await other.eventually { (try? await other.sync.isSettled()) == true })
        return (maker, other)
    }

    @Test func `of two saves around the exchange of a file neither is lost, nor takes the other one back`() async throws
    {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("---\ncolor: red\n---\nnow\n".utf8))
        let machine = try await Machine(MemoryDocumentStore(Machine.database), disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.task(atPath: "Call.md"))
        let steps = Mutex(0)
        disk.setFault { [unowned disk] operation, path in
            guard path.hasSuffix(".tmp") else { return nil }
            let step = steps.withLock { step in
                if step == 0 && operation == "rename" || step == 1 && operation == "examine" {
                    step += 1
                } else {
                    return 0
                }
                return step
            }
            let said = String(decoding: (try? disk.read("Call.md", limit: .max).bytes) ?? [], as: UTF8.self)
            switch step {
            case 1: try? disk.save("Call.md", Array(said.replacing("red", with: "blue").utf8))
            case 2: try? disk.save("Call.md", Array(said.replacing("color", with: "size: big\ncolor").utf8))
            default: break
            }
            return nil
        }
        var edit = TaskEdit()
        edit.addTags = ["phone"]
        try await machine.sync.edit(task, edit)
        #expect(
            await machine.eventually {
                guard let item = try? await machine.sync.detail(task).item else { return false }
                return item.fields == ["color": .string("blue"), "size": .string("big")] && item.tags == ["phone"]
            })
        #expect(steps.withLock { $0 } == 2)
        #expect(
            await machine.eventually {
                let text = String(decoding: (try? disk.read("Call.md", limit: .max).bytes) ?? [], as: UTF8.self)
                return ["size: big", "color: blue", "phone"].allSatisfy(text.contains)
            })
        await machine.stop()
    }

    /// Before Ferry looks whether a save has settled, and before it reads that.
    @Test(arguments: ["examine", "read"])
    func `a file that takes the name of one that is just looked at is a task of its own`(operation: String) async throws
    {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let machine = try await Machine(MemoryDocumentStore(Machine.database), disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.task(atPath: "Call.md"))
        disk.meanwhile(operation, "Call.md") { disk in
            try disk.rename("Call.md", to: "Call Anna.md", .exclusive)
            try disk.write("Call.md", Array("another\n".utf8))
        }
        try disk.write("Call.md", Array("now, or later\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(2) })
        #expect(await machine.sync.path(ofTask: task) == "Call Anna.md")
        #expect(try await machine.sync.detail(task).item.notes == "now, or later\n")
        await machine.stop()
    }

    /// Renamed elsewhere, where its name went to another task; here an editor saves it under the new name, and that task leaves the old
    /// one as well, before Ferry's own rename is told of.
    @Test func `a task that has got the name of one that Ferry renamed is not that one`() async throws {
        let disk = MemoryDisk()
        let (laptop, desk) = try await pair(MemoryDocumentStore(Machine.database), disk)
        let isLeft = Mutex(true)
        disk.setFault { [unowned disk] operation, path in
            // As soon as the other task's file is there.
            guard operation == "write to disk", path.isEmpty, (try? disk.status("Call.md")) != nil,
                (try? disk.status("Old.md")) != nil,
                isLeft.withLock({ left in
                    defer { left = false }
                    return left
                })
            else { return nil }
            try? disk.save("Old.md", Array("now\nor later\n".utf8), habit: .renamingOver)
            try? disk.rename("Call.md", to: "Anna.md", .exclusive)
            return nil
        }
        // So that it comes to the files at once.
        await desk.sync.setPaused(true)
        laptop.rename("Call.md", to: "Old.md")
        try laptop.write("Call.md", "new\n")
        #expect(await laptop.hasTitles(["Call", "Old"]))
        #expect(await desk.hasTitles(["Call", "Old"]))
        await desk.sync.setPaused(false)
        #expect(await laptop.has("Anna.md", "new\n"))
        #expect(await laptop.has("Old.md", "now\nor later\n"))
        #expect(await desk.hasUnited(2))
        #expect(await desk.sync.catalog.count == 2)
        await laptop.stop()
        await desk.stop()
    }

    /// Between Ferry's look at a file that is to have another name and its rename its user gives it a third one, and puts a new one
    /// there; the task that has its old name then is deleted before the user's rename is told of.
    @Test func `a file that got another name before Ferry's own rename of it is not the one that has its old name`()
        async throws
    {
        let disk = MemoryDisk()
        let (laptop, desk) = try await pair(MemoryDocumentStore(Machine.database), disk)
        let task = try #require(await desk.sync.task(atPath: "Call.md"))
        let steps = Mutex(0)
        disk.setFault { [unowned disk] operation, path in
            func isNext(_ step: Int) -> Bool {
                steps.withLock { next in
                    guard next == step else { return false }
                    next += 1
                    return true
                }
            }
            if operation == "rename", path == "Call.md", isNext(0) {
                try? disk.rename("Call.md", to: "Anna.md", .exclusive)
                try? disk.write("Call.md", Array("mine\n".utf8))
            } else if operation == "write to disk", path.isEmpty, (try? disk.status("Call.md")) != nil, isNext(1) {
                // As soon as the other task's file is there.
                try? disk.remove("Call.md")
            }
            return nil
        }
        // So that it comes to the files at once.
        await desk.sync.setPaused(true)
        laptop.rename("Call.md", to: "Old.md")
        try laptop.write("Call.md", "new\n")
        #expect(await laptop.hasTitles(["Call", "Old"]))
        #expect(await desk.hasTitles(["Call", "Old"]))
        await desk.sync.setPaused(false)
        #expect(await laptop.has("Anna.md", "now\n"))
        #expect(await laptop.has("Old.md", "mine\n"))
        #expect(await desk.eventually { await desk.hasUnited(2) })
        #expect(await desk.sync.path(ofTask: task) == "Anna.md")
        #expect(steps.withLock { $0 } == 2)
        await laptop.stop()
        await desk.stop()
    }

    /// The process died between the move and the look at what it had moved.
    @Test func `what was saved just before its file went to the trash unseen comes back`() async throws {
        let disk = MemoryDisk()
        let store = MemoryDocumentStore(Machine.database)
        let (laptop, before) = try await pair(store, disk)
        await before.stop()
        laptop.remove("Call.md")
        #expect(await laptop.eventually { await laptop.sync.catalog.trashed.count == 1 })
        try disk.write("Call.md", Array("now\nor later\n".utf8))
        try disk.makeDirectories(".ferry/trash/00000001-a")
        try disk.write(".ferry/trash/00000001-a/origins", Array("Call.md\n".utf8))
        try disk.rename("Call.md", to: ".ferry/trash/00000001-a/Call.md", .exclusive)
        let desk = try await Machine(store, home: before.home, disk: disk)
        #expect(await laptop.has("Call.md", "now\nor later\n"))
        #expect(await desk.eventually { await desk.hasUnited(1) })
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a command does not take a new file for the one that has just left its name`() async throws {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let machine = try await Machine(MemoryDocumentStore(Machine.database), disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.task(atPath: "Call.md"))
        var edit = TaskEdit()
        edit.addTags = ["phone"]
        try disk.rename("Call.md", to: "Anna.md", .exclusive)
        try disk.write("Call.md", Array("new\n".utf8))
        try await machine.sync.edit(task, edit)
        #expect(await machine.eventually { await machine.hasUnited(2) })
        #expect(await machine.eventually { await machine.sync.path(ofTask: task) == "Anna.md" })
        let item = try await machine.sync.detail(task).item
        #expect(item.notes == "now\n" && item.tags == ["phone"])
        await machine.stop()
    }

    @Test func `a file that is back when its removal is taken over was not deleted`() async throws {
        let disk = MemoryDisk()
        try disk.write("Call.md", Array("now\n".utf8))
        let machine = try await Machine(MemoryDocumentStore(Machine.database), disk: disk)
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.task(atPath: "Call.md"))
        // Whether the directory is the known one is looked at before.
        disk.meanwhile("read", RootMarker.path) { try $0.write("Call.md", Array("later\n".utf8)) }
        try disk.remove("Call.md")
        #expect(await machine.eventually { (try? await machine.sync.detail(task).item.notes) == "later\n" })
        #expect(await machine.sync.catalog.count == 1)
        let fields = try await machine.client.document(machine.sync.name(of: task)).fields
        #expect(fields["origins"]?.mapValue?.keys.contains("deletedTime") != true)
        await machine.stop()
    }
}

extension Machine {
    /// Whether its replica gets to have tasks of these titles, in this order, and no others; also while the bridge is paused.
    fileprivate func hasTitles(_ wanted: [String]) async -> Bool {
        let tasks = TaskSync.queries(of: UserID("alice"), in: Machine.database)[1]
        let search = Task { [client] in
            for try await found in client.snapshots(of: tasks)
            where found.documents.compactMap({ $0["title"]?.stringValue }).sorted() == wanted {
                return true
            }
            return false
        }
        let alarm = Task {
            try await Task.sleep(for: .seconds(60))
            search.cancel()
        }
        defer { alarm.cancel() }
        return (try? await search.value) ?? false
    }
}
