import DocumentStore
import Glibc
import ObjectStorage
import Synchronization
import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Transfers whose file, attachment or task goes before they are over.
@Suite(.serialized) struct OrphanedAttachmentsTests {
    private func withUntold(
        givesBack: Bool = true, _ body: (Machine, Machine, ClosedObjectStore) async throws -> Void
    ) async throws {
        let objects = ClosedObjectStore(givesBack: givesBack)
        try await withMachines(objects: objects) { laptop, desk in
            try await makeUntold(laptop, desk)
            try await body(laptop, desk, objects)
        }
    }

    /// A task on both machines, with a file beside it on the laptop that cannot travel yet.
    private func makeUntold(_ laptop: Machine, _ desk: Machine) async throws {
        try laptop.write("Trip.md", "go\n")
        #expect(await desk.has("Trip.md", "go\n"))
        try laptop.write("Trip.files/ticket.txt", "seat 12\n")
        #expect(await laptop.eventually { await laptop.sync.allTransfers.map(\.name) == ["ticket.txt"] })
    }

    private func pauseTransfers(of machine: Machine) async throws {
        try await machine.sync.command(.pause, machine.sync.allTransfers.map(\.id))
    }

    @Test func `what was beside a task is known again after a restart`() throws {
        let stamp = FileStamp(
            device: 1, inode: 2, size: 3, modified: FileTime(seconds: -4, nanoseconds: 5),
            changed: FileTime(seconds: 6, nanoseconds: 7))
        for names in [[], ["a.png"], [" two  words .txt", "3 4 5 6", "\u{e9}", "e\u{301}"]] {
            let left = OrphanedAttachments(
                entry: TrashEntry(name: "00000001-x", origins: [try TaskPath("Work/New plan.files")]),
                told: Dictionary(names.map { (ExactText($0), OrphanedAttachments.Version(stamp)) }) { $1 })
            #expect(OrphanedAttachments(saved: left.saved) == left)
            #expect(left.told.count == names.count)
        }
        for text in ["", "entry", "entry\n../x", "entry\nX.files\n1 2 name", "entry\nX.files\n1 2 x name"] {
            #expect(OrphanedAttachments(saved: text) == nil)
        }
    }

    @Test func `what had not travelled when its task was deleted comes back with it`() async throws {
        try await withUntold { laptop, desk, objects in
            let task = try #require(await laptop.sync.task(atPath: "Trip.md"))
            try await laptop.sync.remove([task])
            #expect(await laptop.lacks("Trip.files/ticket.txt"))
            #expect(await laptop.sync.allTransfers.allSatisfy(\.phase.isOver))
            #expect(await desk.lacks("Trip.md"))
            objects.open()
            try await desk.sync.restore([task])
            #expect(await laptop.has("Trip.files/ticket.txt", "seat 12\n"))
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            #expect(await laptop.sync.orphanedAttachments.isEmpty)
        }
    }

    @Test func `it comes back also where a file was removed, its daemon was restarted and the task has another name`()
        async throws
    {
        let (store, objects) = (MemoryDocumentStore(Machine.database), ClosedObjectStore(givesBack: true))
        let laptop = try await Machine(store, objects: objects)
        let desk = try await Machine(store, objects: objects)
        try await makeUntold(laptop, desk)
        let task = try #require(await laptop.sync.task(atPath: "Trip.md"))
        laptop.remove("Trip.md")
        #expect(await desk.lacks("Trip.md"))
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        await laptop.stop()
        objects.open()
        var edit = TaskEdit()
        edit.title = "Journey"
        try await desk.sync.restore([task])
        try await desk.sync.edit(task, edit)
        let again = try await Machine(store, objects: objects, home: laptop.home)
        #expect(await again.has("Journey.files/ticket.txt", "seat 12\n"))
        #expect(await desk.has("Journey.files/ticket.txt", "seat 12\n"))
        await again.stop()
        await desk.stop()
    }

    @Test func `a paused upload ends with its file, and the next file of its name is another`() async throws {
        try await withUntold { laptop, desk, objects in
            try await pauseTransfers(of: laptop)
            laptop.remove("Trip.files/ticket.txt")
            #expect(await laptop.eventually { await laptop.sync.allTransfers.map(\.phase) == [.cancelled] })
            #expect(await laptop.sync.pausedTransfers.isEmpty)
            objects.open()
            try laptop.write("Trip.files/ticket.txt", "seat 13, window\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 13, window\n"))
        }
    }

    @Test func `a paused download ends with its attachment, and with its task`() async throws {
        try await withUntold(givesBack: false) { laptop, desk, objects in
            objects.open()
            #expect(await desk.eventually { await desk.sync.allTransfers.map(\.name) == ["ticket.txt"] })
            try await pauseTransfers(of: desk)
            laptop.remove("Trip.files/ticket.txt")
            #expect(await desk.eventually { await desk.sync.allTransfers.map(\.phase) == [.cancelled] })
            #expect(await desk.sync.pausedTransfers.isEmpty)
            try laptop.write("Trip.files/map.txt", "north\n")
            #expect(await desk.eventually { await desk.sync.allTransfers.count == 2 })
            try await pauseTransfers(of: desk)
            laptop.remove("Trip.md")
            #expect(await desk.lacks("Trip.md"))
            #expect(await desk.eventually { await desk.sync.allTransfers.map(\.phase) == [.cancelled, .cancelled] })
        }
    }
}

/// Takes nothing until it is opened.
final class ClosedObjectStore: ObjectStore {
    private let store = MemoryObjectStore()
    private let isOpen = Atomic(false)
    /// Whether what it has can be read.
    private let givesBack: Bool

    init(givesBack: Bool) { self.givesBack = givesBack }

    func open() { isOpen.store(true, ordering: .releasing) }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        guard isOpen.load(ordering: .acquiring) else { throw ObjectStorageError(.transient, "closed") }
        try await store.put(key, content, type: type, hash: hash)
    }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        guard givesBack else { throw ObjectStorageError(.transient, "closed") }
        return try await store.get(key, range: range)
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? { try await store.head(key) }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: ObjectKey) async throws { try await store.delete(key) }
}
