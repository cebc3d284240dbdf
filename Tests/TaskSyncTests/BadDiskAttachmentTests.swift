import DocumentStore
import Glibc
import ObjectStorage
import Synchronization
import SystemIO
import SystemTestKit
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Attachments on disks that do what real ones do now and then.
@Suite(.serialized) struct BadDiskAttachmentTests {
    private let store = MemoryDocumentStore(Machine.database)
    private let objects = MemoryObjectStore()

    /// Two machines, the second of which has got this attachment onto its disk.
    private func machines(
        with attachment: String, of task: String = "Trip.md"
    ) async throws -> (laptop: Machine, desk: Machine, disk: MemoryDisk) {
        let home = try TemporaryDirectory()
        let disk = MemoryDisk(scratch: home.path)
        let laptop = try await Machine(store, objects: objects)
        let desk = try await Machine(store, objects: objects, home: home, disk: disk)
        try laptop.write(task, "go\n")
        try laptop.write(attachment, "seat 12\n")
        #expect(await desk.eventually { (try? disk.status(attachment)) != nil })
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        return (laptop, desk, disk)
    }

    @Test func `an attachment that was detached elsewhere goes when the full disk has room for the trash`() async throws
    {
        let path = "Trip.files/ticket.txt"
        let (laptop, desk, disk) = try await machines(with: path)
        disk.setCapacity(0)
        laptop.remove(path)
        #expect(await desk.eventually { await desk.sync.allProblems.map(\.code) == ["not-removed"] })
        #expect((try? disk.status(path)) != nil)
        disk.setCapacity(.max)
        #expect(await desk.eventually { (try? disk.status(path)) == nil })
        #expect(await desk.eventually { await desk.sync.allProblems.isEmpty })
        await laptop.stop()
        await desk.stop()
    }

    @Test func `an attachment that comes does not make the directory anew that its list was missed in`() async throws {
        let path = "Home/Trip.files/ticket.txt"
        let (laptop, before, disk) = try await machines(with: path, of: "Home/Trip.md")
        await before.stop()
        // Renamed while nobody watched, to where nobody can look.
        try disk.rename("Home", to: "House", .exclusive)
        try disk.setMode("House", 0)
        try laptop.write(path, "seat 13\n")
        #expect(await laptop.eventually { await laptop.sync.allTransfers.count { $0.phase == .done } == 2 })
        let desk = try await Machine(store, objects: objects, home: before.home, disk: disk)
        #expect(await desk.eventually { await desk.sync.allProblems.map(\.subject) == ["House"] })
        #expect(
            await desk.eventually {
                await desk.sync.allTransfers.contains {
                    if case .waiting(let why) = $0.phase { why.contains("Home is not there") } else { false }
                }
            })
        #expect((try? disk.status("Home")) == nil)
        try disk.setMode("House", 0o755)
        #expect(await laptop.has("House/Trip.files/ticket.txt", "seat 13\n"))
        #expect(
            await desk.eventually {
                (try? disk.read("House/Trip.files/ticket.txt", limit: 100).bytes) == Array("seat 13\n".utf8)
            })
        #expect(await desk.hasUnited(1))
        await laptop.stop()
        await desk.stop()
    }

    @Test func `attachments that a full disk has no trash for are those of the file that took the place of theirs`()
        async throws
    {
        let path = "Trip.files/ticket.txt"
        let (laptop, desk, disk) = try await machines(with: path)
        try laptop.write("Old.md", "old\n")
        #expect(await desk.eventually { (try? disk.status("Old.md")) != nil })
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        disk.setCapacity(0)
        try disk.rename("Old.md", to: "Trip.md", .replacing)
        #expect(await laptop.has("Trip.md", "old\n"))
        #expect(await laptop.has(path, "seat 12\n"))
        await laptop.stop()
        await desk.stop()
    }

    @Test func `attachments of a file that moved, and was replaced before it was read there, go with it`() async throws
    {
        let (laptop, desk, disk) = try await machines(with: "Home/Trip.files/ticket.txt", of: "Home/Trip.md")
        try laptop.write("Old.md", "old\n")
        #expect(await desk.eventually { (try? disk.status("Old.md")) != nil })
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        disk.meanwhile("read", "Trip.md") { try $0.rename("Old.md", to: "Trip.md", .replacing) }
        try disk.rename("Home/Trip.md", to: "Trip.md", .exclusive)
        #expect(await laptop.has("Trip.md", "old\n"))
        #expect(await desk.eventually { await desk.hasUnited(1) })
        #expect(await desk.eventually { (try? disk.status("Trip.files")) == nil })
        #expect(await laptop.lacks("Home/Trip.files/ticket.txt"))
        #expect(try !laptop.names("").contains("Trip.files"))
        await laptop.stop()
        await desk.stop()
    }

    @Test func `what a full disk had no trash for, and nobody had been told of, comes back with its task`() async throws
    {
        let (objects, home) = (ClosedObjectStore(givesBack: true), try TemporaryDirectory())
        let disk = MemoryDisk(scratch: home.path)
        let laptop = try await Machine(store, objects: objects)
        let before = try await Machine(store, objects: objects, home: home, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await laptop.has("Trip.md", "go\n"))
        try disk.makeDirectories("Trip.files")
        try disk.write("Trip.files/ticket.txt", Array("seat 12\n".utf8))
        #expect(await before.eventually { await before.sync.allTransfers.map(\.name) == ["ticket.txt"] })
        let task = try #require(await before.sync.task(atPath: "Trip.md"))
        disk.setCapacity(0)
        try disk.remove("Trip.md")
        #expect(await laptop.lacks("Trip.md"))
        #expect(await before.eventually { (try? await before.sync.isSettled()) == true })
        await before.stop()
        disk.setCapacity(.max)
        objects.open()
        var edit = TaskEdit()
        edit.title = "Journey"
        try await laptop.sync.restore([task])
        try await laptop.sync.edit(task, edit)
        let desk = try await Machine(store, objects: objects, home: home, disk: disk)
        #expect(await laptop.has("Journey.files/ticket.txt", "seat 12\n"))
        #expect(await desk.eventually { (try? disk.status("Journey.files/ticket.txt")) != nil })
        #expect((try? disk.status("Trip.files")) == nil)
        await laptop.stop()
        await desk.stop()
    }

    @Test func `what comes back with its task waits in the trash while the full disk has no room for its directory`()
        async throws
    {
        let (objects, home) = (ClosedObjectStore(givesBack: true), try TemporaryDirectory())
        let disk = MemoryDisk(scratch: home.path)
        let laptop = try await Machine(store, objects: objects)
        let desk = try await Machine(store, objects: objects, home: home, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await laptop.has("Trip.md", "go\n"))
        try disk.makeDirectories("Trip.files")
        try disk.write("Trip.files/ticket.txt", Array("seat 12\n".utf8))
        #expect(await desk.eventually { await desk.sync.allTransfers.map(\.name) == ["ticket.txt"] })
        let task = try #require(await desk.sync.task(atPath: "Trip.md"))
        try disk.remove("Trip.md")
        #expect(await laptop.lacks("Trip.md"))
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        let refused = Mutex(false)
        disk.setFault { operation, path in
            guard operation == "make the directory", path == "Trip.files" else { return nil }
            refused.withLock { $0 = true }
            return ENOSPC
        }
        try await laptop.sync.restore([task])
        #expect(await desk.eventually { refused.withLock { $0 } })
        disk.setFault(nil)
        objects.open()
        #expect(await laptop.has("Trip.files/ticket.txt", "seat 12\n"))
        #expect(await desk.eventually { (try? disk.status("Trip.files/ticket.txt")) != nil })
        await laptop.stop()
        await desk.stop()
    }

    @Test func `an attachment detached elsewhere while the directory is away goes when it is back`() async throws {
        let path = "Trip.files/ticket.txt"
        let (laptop, desk, disk) = try await machines(with: path)
        disk.setRootMissing(true)
        laptop.remove(path)
        #expect(await desk.eventually { await desk.sync.rootHold != nil })
        disk.setRootMissing(false)
        #expect(await desk.eventually { (try? disk.status(path)) == nil })
        await laptop.stop()
        await desk.stop()
    }

    @Test func `an attachment whose upload ends while the directory is away is uploaded when it is back`() async throws
    {
        let home = try TemporaryDirectory()
        let disk = MemoryDisk(scratch: home.path)
        let objects = CallingStore(MemoryObjectStore()) { disk.setRootMissing(true) }
        let machine = try await Machine(store, objects: objects, home: home, disk: disk)
        try disk.write("Trip.md", Array("go\n".utf8))
        #expect(await machine.eventually { await machine.hasUnited(1) })
        let task = try #require(await machine.sync.catalog.living.map(\.id).first)
        try disk.makeDirectories("Trip.files")
        try disk.write("Trip.files/ticket.txt", Array("seat 12\n".utf8))
        #expect(await machine.eventually { await machine.sync.rootHold != nil })
        disk.setRootMissing(false)
        #expect(
            await machine.eventually {
                (try? await machine.sync.detail(task).item.attachments.values.map(\.name)) == ["ticket.txt"]
            })
        await machine.stop()
    }
}

/// Tells of the first object that is put into another store, before it is.
private final class CallingStore: ObjectStore {
    private let store: MemoryObjectStore
    private let action: @Sendable () -> Void
    private let isFirst = Mutex(true)

    init(_ store: MemoryObjectStore, _ action: @escaping @Sendable () -> Void) {
        self.store = store
        self.action = action
    }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        if isFirst.withLock({ first in
            defer { first = false }
            return first
        }) {
            action()
        }
        try await store.put(key, content, type: type, hash: hash)
    }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        try await store.get(key, range: range)
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await store.head(key) }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: ObjectKey) async throws { try await store.delete(key) }
}
