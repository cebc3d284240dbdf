import Cryptography
import Dispatch
import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import ObjectStorage
import Simulation
import SystemTestKit
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// What lies beside tasks, on two machines of one user: real directories and replicas, remotes in memory.
@Suite(.serialized) struct AttachmentTests {
    @Test func `an attachment is whole on the other machine, follows its task and leaves with it`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            mkdir(laptop.path("Trip.files"), 0o700)
            try laptop.write("Trip.files/ticket.txt", String(repeating: "seat 12\n", count: 10_000))
            let whole = String(repeating: "seat 12\n", count: 10_000)
            #expect(await desk.has("Trip.files/ticket.txt", whole))
            laptop.rename("Trip.md", to: "Journey.md")
            #expect(await desk.has("Journey.files/ticket.txt", whole))
            #expect(await laptop.has("Journey.files/ticket.txt", whole))
            desk.remove("Journey.files/ticket.txt")
            #expect(await laptop.lacks("Journey.files/ticket.txt"))
        }
    }

    @Test(arguments: ["Hotel.files", "Nobody.files"])
    func `attachments whose directory gets another task's name, or none's, leave their task everywhere`(name: String)
        async throws
    {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Hotel.md", "stay\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            laptop.rename("Trip.files", to: name)
            #expect(await desk.lacks("Trip.files/ticket.txt"))
            if name == "Hotel.files" { #expect(await desk.has("Hotel.files/ticket.txt", "seat 12\n")) }
        }
    }

    @Test func `attachments that are removed together are one change, and each can be brought back`() async throws {
        let machine = try await Machine(MemoryDocumentStore(Machine.database))
        let (steps, pending) = try await machine.client.transaction { transaction in
            let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: "t")
            let files = (1...3).map { ("f\($0)", Value.map(["name": .string("\($0).txt"), "sha256": .string("a")])) }
            try transaction.append(.create(name, ["attachments": .map(Dictionary(uniqueKeysWithValues: files))]))
            let steps = try TaskSync.setAttachments(
                ["f1": nil, "f2": nil, "none": nil], of: "t", as: .beside, userID: UserID("alice"), merge: "m",
                transaction)
            #expect(try Set(transaction.document(name)["attachments"]?.mapValue?.keys ?? [:].keys) == ["f3"])
            return (steps, try transaction.pending(name).flatMap(\.mutation.companions))
        }
        #expect(steps.map(\.attachment?.id) == ["f1", "f2"])
        #expect(steps.allSatisfy { $0.attachment?.before != nil && $0.attachment?.after == nil })
        #expect(pending.count == 2)
        await machine.stop()
    }

    @Test func `attachments that are renamed a moment before their task go with it`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            laptop.rename("Trip.files", to: "Journey.files")
            laptop.rename("Trip.md", to: "Journey.md")
            #expect(await desk.has("Journey.files/ticket.txt", "seat 12\n"))
            #expect(await desk.lacks("Trip.files/ticket.txt"))
            #expect(await desk.has("Journey.md", "go\n"))
        }
    }

    @Test func `each machine knows where the content of its version is, and notes it for its next start`() async throws
    {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            for content in ["seat 12\n", "seat 13, window\n"] {
                try laptop.write("Trip.files/ticket.txt", content)
                #expect(await desk.has("Trip.files/ticket.txt", content))
                for machine in [laptop, desk] {
                    #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
                    let task = try #require(await machine.sync.task(atPath: "Trip.md"))
                    let name = try DocumentName(task: task, in: Machine.database)
                    let stored = try await machine.client.transaction {
                        (try $0.document(name).fields(pendingTimes: .previous), try SyncTables($0).attachments())
                    }
                    let key = TaskItem(fields: stored.0).attachments.values.first?.manifest
                    #expect(key != nil)
                    #expect(stored.1.map(\.content) == [key])
                    #expect(await machine.sync.attachments.all.map(\.content) == [key])
                }
            }
        }
    }

    @Test func `an attachment whose mode has changed is still the one that is replaced and removed from elsewhere`()
        async throws
    {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            chmod(desk.path("Trip.files/ticket.txt"), 0o600)
            try laptop.write("Trip.files/ticket.txt", "seat 13, window\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 13, window\n"))
            #expect(desk.read("Trip.files/ticket (2).txt") == nil)
            chmod(desk.path("Trip.files/ticket.txt"), 0o640)
            laptop.remove("Trip.files/ticket.txt")
            #expect(await desk.lacks("Trip.files/ticket.txt"))
        }
    }

    /// As one that was only touched: what is here is what was here before.
    @Test func `a file that is uploaded once more gives way to the version that another machine made meanwhile`()
        async throws
    {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            let task = try #require(await desk.sync.task(atPath: "Trip.md"))
            let hash = SHA256.hash(Array("seat 13\n".utf8)).hex
            try await desk.sync.withExclusiveAccess {
                await desk.sync.queueUpload(task, "ticket.txt", size: 8)
                try laptop.write("Trip.files/ticket.txt", "seat 13\n")
                let name = try DocumentName(task: task, in: Machine.database)
                for try await snapshot in desk.client.snapshots(of: name, from: .cache) {
                    let fields = snapshot.documents.first?.fields(pendingTimes: .previous) ?? [:]
                    if TaskItem(fields: fields).attachments.values.contains(where: { $0.sha256 == hash }) { break }
                }
            }
            #expect(await desk.has("Trip.files/ticket.txt", "seat 13\n"))
            #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
            #expect(laptop.read("Trip.files/ticket.txt") == "seat 13\n")
            #expect(await laptop.sync.openConflicts.isEmpty)
        }
    }

    /// The first has an attachment, which stays.
    private func removeTwelveTrips(_ laptop: Machine, _ desk: Machine) async throws {
        for number in 1...12 { try laptop.write("Trip \(number).md", "go\n") }
        try laptop.write("Trip 1.files/ticket.txt", "seat 12\n")
        #expect(await desk.has("Trip 1.files/ticket.txt", "seat 12\n"))
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        for number in 1...12 { laptop.remove("Trip \(number).md") }
    }

    @Test func `an attachment that went with a held delete comes back with its task`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try await removeTwelveTrips(laptop, desk)
            laptop.remove("Trip 1.files/ticket.txt")
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            try await laptop.sync.restoreDeletes(laptop.sync.heldDeletes.map(\.entry.id))
            #expect(await laptop.has("Trip 1.files/ticket.txt", "seat 12\n"))
            #expect(desk.read("Trip 1.files/ticket.txt") == "seat 12\n")
        }
    }

    @Test func `an attachment that went with a held delete comes back with the task's file`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try await removeTwelveTrips(laptop, desk)
            laptop.remove("Trip 1.files/ticket.txt")
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            // As seen: it waits with the task, and nothing else is told of it.
            try await laptop.sync.rescanNow()
            try laptop.write("Trip 1.md", "go\n")
            #expect(await laptop.has("Trip 1.files/ticket.txt", "seat 12\n"))
            #expect(desk.read("Trip 1.files/ticket.txt") == "seat 12\n")
        }
    }

    @Test func `an attachment taken away elsewhere while its task has no file goes when that is back`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try await removeTwelveTrips(laptop, desk)
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            await laptop.sync.setPaused(true)
            let held = await laptop.sync.heldDeletes.map(\.entry)
            try await laptop.sync.restoreDeletes(held.map(\.id))
            desk.remove("Trip 1.files/ticket.txt")
            let task = try #require(held.first { $0.title == "Trip 1" }?.id)
            while case let (view, last) = try await laptop.client.reading({ (try $0.task(task), $0.latestSequence) }),
                view["attachments"]?.mapValue?.isEmpty == false
            {
                try await laptop.client.waitForChanges(after: last)
            }
            await laptop.sync.setPaused(false)
            #expect(await laptop.has("Trip 1.md", "go\n"))
            #expect(await laptop.lacks("Trip 1.files/ticket.txt"))
        }
    }

    @Test func `attachments that stayed behind a held delete follow the task to the name that it has got elsewhere`()
        async throws
    {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try await removeTwelveTrips(laptop, desk)
            #expect(await laptop.eventually { await laptop.sync.heldDeletes.count == 12 })
            desk.rename("Trip 1.md", to: "Journey.md")
            #expect(
                await laptop.eventually { await laptop.sync.catalog.living.contains { $0.title == "Journey" } })
            try await laptop.sync.restoreDeletes(laptop.sync.heldDeletes.map(\.entry.id))
            #expect(await laptop.has("Journey.files/ticket.txt", "seat 12\n"))
            #expect(laptop.read("Trip 1.files/ticket.txt") == nil)
            #expect(desk.read("Journey.files/ticket.txt") == "seat 12\n")
        }
    }

    @Test func `two machines' attachments of one name are two, whichever is uploaded first`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let objects = MemoryObjectStore()
        let laptop = try await Machine(store, objects: objects)
        let desk = try await Machine(store, objects: objects)
        try laptop.write("Trip.md", "go\n")
        #expect(await desk.has("Trip.md", "go\n"))
        // Without its uploads the desk learns of the other one before its own is told of.
        await desk.sync.setPaused(true)
        try desk.write("Trip.files/ticket.txt", "seat 12\n")
        #expect(await desk.eventually { await desk.sync.allTransfers.count == 1 })
        try laptop.write("Trip.files/ticket.txt", "seat 13\n")
        let task = try #require(await desk.sync.catalog.living.map(\.id).first)
        let name = try DocumentName(task: task, in: Machine.database)
        while case let (known, last) = try await desk.client.reading({ (try $0.document(name), $0.latestSequence) }),
            known["attachments"] == nil
        {
            try await desk.client.waitForChanges(after: last)
        }
        await desk.sync.setPaused(false)
        #expect(await desk.has("Trip.files/ticket.txt", "seat 13\n"))
        for machine in [laptop, desk] {
            // Named alike on both, and called so by commands.
            #expect(await machine.has("Trip.files/ticket (2).txt", "seat 12\n"))
            #expect(machine.read("Trip.files/ticket.txt") == "seat 13\n")
            let item = try await machine.sync.detail(task).item
            let hash = SHA256.hash(Array("seat 12\n".utf8)).hex
            #expect(item.attachment(meantBy: "ticket (2).txt")?.attachment.sha256 == hash)
            #expect(item.attachment(meantBy: "ticket.txt")?.attachment.sha256 != hash)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a file that two machines attach apart is one, and nobody is asked which`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            #expect(await desk.has("Trip.md", "go\n"))
            for machine in [laptop, desk] { machine.remote.cut(true) }
            for machine in [laptop, desk] {
                try machine.write("Trip.files/ticket.txt", "seat 12\n")
                #expect(try await machine.eventually { try await machine.client.pendingMutations().count == 1 })
            }
            for machine in [laptop, desk] {
                machine.remote.cut(false)
                await machine.client.networkChanged()
                #expect(try await machine.eventually { try await machine.client.pendingMutations().isEmpty })
            }
            let task = try #require(await desk.sync.catalog.living.map(\.id).first)
            for machine in [laptop, desk] {
                #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
                let attachments = try await machine.client.reading { try $0.task(task) }["attachments"]?.mapValue
                #expect(attachments?.count == 1)
                #expect(try await machine.sync.conflicts().isEmpty)
                #expect(machine.read("Trip.files/ticket.txt") == "seat 12\n")
                #expect(machine.read("Trip.files/ticket (2).txt") == nil)
            }
            // The same bytes under another name, and again under the first one, are files of their own.
            laptop.rename("Trip.files/ticket.txt", to: "Trip.files/old.txt")
            #expect(await desk.has("Trip.files/old.txt", "seat 12\n"))
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            #expect(desk.read("Trip.files/old.txt") == "seat 12\n")
        }
    }

    @Test func `many small attachments travel in few writes of their task`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let objects = MemoryObjectStore()
        let laptop = try await Machine(store, objects: objects)
        let desk = try await Machine(store, objects: objects)
        try laptop.write("Trip.md", "go\n")
        #expect(await desk.has("Trip.md", "go\n"))
        // More than one write can take transforms for.
        let count = 700
        for number in 0..<count { try laptop.write("Aside/\(number).txt", "seat \(number)\n") }
        laptop.rename("Aside", to: "Trip.files")
        #expect(
            await desk.eventually {
                (0..<count).allSatisfy { desk.read("Trip.files/\($0).txt") == "seat \($0)\n" }
            })
        #expect(await laptop.sync.allProblems.isEmpty)
        let commits = laptop.commitCount
        #expect(commits < count / 4, "\(commits) commits")
        await laptop.stop()
        await desk.stop()
    }

    @Test func `of files that are attached together all are there, or none`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            #expect(await laptop.eventually { await Array(laptop.sync.catalog.living).count == 1 })
            let task = try #require(await Array(laptop.sync.catalog.living).first?.id)
            for (path, text) in [("a/x.txt", "1"), ("b/x.txt", "2"), ("b/y.txt", "3")] {
                try laptop.write("../\(path)", text)
            }
            let files = ["a/x.txt", "b/x.txt", "b/y.txt"].map { (path: "\(laptop.root)/\($0)", name: String?.none) }
            await #expect(throws: (any Error).self) {
                try await laptop.sync.attach(task, files + [("\(laptop.root)/nothing", nil)])
            }
            #expect(laptop.read("Trip.files/x.txt") == nil)
            let transfers = try await laptop.sync.attach(task, files)
            let queued = await laptop.sync.allTransfers
            #expect(transfers.map { id in queued.first { $0.id == id }?.name } == ["x.txt", "x (2).txt", "y.txt"])
            #expect(await desk.has("Trip.files/x.txt", "1"))
            #expect(await desk.has("Trip.files/x (2).txt", "2"))
            #expect(await desk.has("Trip.files/y.txt", "3"))
        }
    }

    @Test func `incoming files go when nothing waits for them`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            // In the way of what comes.
            try desk.write("Trip.files", "")
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(
                await desk.eventually {
                    await desk.sync.allTransfers.contains { if case .waiting = $0.phase { true } else { false } }
                })
            let transfer = try #require(await desk.sync.allTransfers.first)
            let incoming = ".ferry/incoming/\(try #require(transfer.incoming))"
            #expect(desk.read(incoming) == "seat 12\n")
            // Of a download that another run has begun, and of a copy that a crash has cut short.
            for name in ["0123abcd", "attach-0123abcd"] { try desk.write(".ferry/incoming/\(name)", "half") }
            await desk.sync.removeUnwantedIncoming()
            #expect(try desk.names(".ferry/incoming") == [transfer.incoming])
            #expect(desk.read(incoming) == "seat 12\n")

            try await desk.sync.command(.cancel, [transfer.id])
            await desk.sync.removeUnwantedIncoming()
            #expect(try desk.names(".ferry/incoming") == [])
            desk.remove("Trip.files")
            try await desk.sync.command(.resume, [transfer.id])
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
        }
    }

    @Test func `a copy that a command is at is no leftover`() async throws {
        let home = try TemporaryDirectory()
        let disk = MemoryDisk(scratch: home.path)
        let desk = try await Machine(
            MemoryDocumentStore(Machine.database), objects: MemoryObjectStore(), home: home, disk: disk)
        try disk.save("Trip.md", Array("go\n".utf8))
        #expect(await desk.eventually { await desk.hasUnited(1) })
        let task = try #require(await desk.sync.catalog.living.map(\.id).first)
        try desk.write("../ticket.txt", "seat 12\n")
        disk.setFault { [weak sync = desk.sync] operation, path in
            guard operation == "rename", path.contains("/incoming/attach-") else { return nil }
            disk.setFault(nil)
            let looked = DispatchSemaphore(value: 0)
            Task {
                await sync?.removeUnwantedIncoming()
                looked.signal()
            }
            looked.wait()
            return nil
        }
        _ = try await desk.sync.attach(task, [("\(desk.root)/ticket.txt", nil)])
        #expect(try disk.read("Trip.files/ticket.txt", limit: 100).bytes == Array("seat 12\n".utf8))
        #expect(await desk.sync.copies.isEmpty)
        await desk.stop()
    }

    @Test func `a file attached by a command is uploaded after a restart whatever its name says`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let first = try await Machine(store)
        try first.write("Trip.md", "go\n")
        try first.write("Trip.files/left.PART", "unfinished")
        #expect(await first.eventually { await Array(first.sync.catalog.living).count == 1 })
        let task = try #require(await Array(first.sync.catalog.living).first?.id)
        try first.write("../whole.PART", "complete\n")
        // Without a store there is nothing to send it to yet.
        await #expect(throws: TaskSyncError.self) {
            try await first.sync.attach(task, [("\(first.root)/whole.PART", nil)])
        }
        await first.stop()
        let objects = MemoryObjectStore()
        let second = try await Machine(store, objects: objects, home: first.home)
        let desk = try await Machine(store, objects: objects)
        #expect(await desk.has("Trip.files/whole.PART", "complete\n"))
        #expect(desk.read("Trip.files/left.PART") == nil)
        await second.stop()
        await desk.stop()
    }

    @Test func `a repair that is asked for while the file is only offered puts all of it anew`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            let task = try #require(await laptop.sync.task(atPath: "Trip.md"))
            try await laptop.sync.withExclusiveAccess {
                await laptop.sync.queueUpload(task, "ticket.txt", size: 8)
                let repair = await laptop.sync.queueUpload(task, "ticket.txt", size: 8, isRepair: true)
                let current = await laptop.sync.transfers.current(.init(upload: "ticket.txt", of: task))
                #expect(current?.id == repair)
                #expect(current?.isRepair == true)
            }
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        }
    }

    @Test func `a link beside a task is told of until a file is there`() async throws {
        try await withMachines(objects: MemoryObjectStore()) { laptop, desk in
            try laptop.write("Trip.md", "go\n")
            try laptop.write("Trip.files/ticket.txt", "seat 12\n")
            #expect(await desk.has("Trip.files/ticket.txt", "seat 12\n"))
            symlink("/etc/passwd", laptop.path("Trip.files/map.txt"))
            #expect(await laptop.eventually { await laptop.sync.allProblems.map(\.subject) == ["Trip.files/map.txt"] })
            laptop.remove("Trip.files/map.txt")
            #expect(await laptop.eventually { await laptop.sync.allProblems.isEmpty })
            symlink("/etc/passwd", laptop.path("Trip.files/map.txt"))
            #expect(await laptop.eventually { await !laptop.sync.allProblems.isEmpty })
            try laptop.write("map", "north\n")
            laptop.rename("map", to: "Trip.files/map.txt")
            #expect(await desk.has("Trip.files/map.txt", "north\n"))
            #expect(await laptop.sync.allProblems.isEmpty)
        }
    }

    @Test func `attachments beside a lost state are those of their tasks`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let objects = MemoryObjectStore()
        let first = try await Machine(store, objects: objects)
        try first.write("Trip.md", "go\n")
        try first.write("Trip.files/ticket.txt", "seat 12\n")
        let task = await first.eventually {
            let ids = await first.sync.catalog.living.map(\.id)
            return (try? await first.sync.detail(ids.first ?? "").item.attachments.count) == 1
        }
        #expect(task)
        await first.stop()
        for suffix in ["", "-wal", "-shm"] { unlink("\(first.root)/replica.db\(suffix)") }
        let second = try await Machine(store, objects: objects, home: first.home)
        #expect(
            await second.eventually {
                let ids = await second.sync.catalog.living.map(\.id)
                let isSettled = (try? await second.sync.isSettled()) == true
                return isSettled && ids.count == 1 && second.read("Trip.files/ticket.txt") == "seat 12\n"
            })
        #expect(second.read("Trip.files/ticket (2).txt") == nil)
        let id = try #require(await second.sync.catalog.living.map(\.id).first)
        #expect(try await second.sync.detail(id).item.attachments.count == 1)
        await second.stop()
    }
}
