import DocumentStore
import SystemIO
import TaskFolder
import Testing

@testable import TaskSync

/// A directory that is re-adopted while something in it cannot be read.
@Suite(.serialized) struct ReadoptionTests {
    let store = MemoryDocumentStore(Machine.database)

    @Test func `a directory that is re-adopted is not filled before all of it can be read`() async throws {
        let disk = MemoryDisk()
        let first = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.makeDirectories("Later")
        try disk.write("Trip.md", Array("go\n".utf8))
        try disk.write("Mail.md", Array("send\n".utf8))
        #expect(await first.eventually { await first.hasUnited(2) })
        #expect(await first.eventually { await first.sync.lists.paths.count == 2 })
        let (trip, lists) = (try #require(await first.sync.task(atPath: "Trip.md")), await first.sync.lists.paths)
        await first.stop()
        try disk.rename("Trip.md", to: "Home/Trip.md", .exclusive)
        try disk.remove("Mail.md")
        try disk.removeDirectory("Later")
        try disk.setMode("Home", 0)
        // What waits outlives the next start.
        for rebinds in [true, false] {
            let machine = try await Machine(store, home: first.home, disk: disk, rebinds: rebinds)
            #expect(await machine.eventually { await machine.sync.allProblems.map(\.code) == ["unreadable"] })
            try await machine.sync.withExclusiveAccess { try await machine.sync.forgetMissingLists() }
            #expect(["Trip.md", "Mail.md", "Later"].allSatisfy { (try? disk.status($0)) == nil })
            #expect(await machine.sync.catalog.trashed.isEmpty)
            #expect(await machine.sync.lists.paths == lists)
            await machine.stop()
        }
        let last = try await Machine(store, home: first.home, disk: disk)
        try disk.setMode("Home", 0o755)
        #expect(await last.eventually { (try? disk.read("Mail.md", limit: .max).bytes) == Array("send\n".utf8) })
        #expect(await last.eventually { (try? disk.status("Later")) != nil })
        #expect(await last.eventually { await last.sync.path(ofTask: trip) == "Home/Trip.md" })
        #expect(await last.sync.catalog.count == 2)
        #expect(await last.sync.catalog.trashed.isEmpty)
        #expect(await last.sync.lists.paths == lists)
        #expect((try? disk.status("Trip.md")) == nil)
        // From now on what goes was deleted; that it is there is noted first.
        try await last.sync.withExclusiveAccess {}
        try disk.remove("Mail.md")
        #expect(await last.eventually { await last.sync.catalog.trashed.count == 1 })
        await last.stop()
    }

    @Test func `a directory that is re-adopted is filled where what could not be read has gone`() async throws {
        let disk = MemoryDisk()
        let first = try await Machine(store, disk: disk)
        try disk.makeDirectories("Home")
        try disk.write("Mail.md", Array("send\n".utf8))
        #expect(await first.eventually { await first.hasUnited(1) })
        await first.stop()
        try disk.remove("Mail.md")
        try disk.setMode("Home", 0)
        let machine = try await Machine(store, home: first.home, disk: disk, rebinds: true)
        #expect(await machine.eventually { await machine.sync.allProblems.map(\.code) == ["unreadable"] })
        try disk.removeDirectory("Home")
        #expect(await machine.eventually { (try? disk.status("Mail.md")) != nil })
        #expect(await machine.sync.catalog.count == 1)
        await machine.stop()
    }
}
