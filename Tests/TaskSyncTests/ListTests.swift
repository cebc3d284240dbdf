import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import SQLite
import Simulation
import Synchronization
import SystemIO
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// Which directory is which list, where names change hands.
@Suite(.serialized) struct ListTests {
    let store = MemoryDocumentStore(Machine.database)

    @Test(arguments: [
        "x.md", "X.MD", ".md", "a.md/b.md", "x.files", ".ferry", "../../x", "/etc/passwd", "", "/", "a\0b", "x~",
        "a.tmp", "#x#",
        ".#x", "4913", "CON", "\u{202E}x.md", String(repeating: "x", count: 300) + ".md", "Thumbs.db", "~$x.md",
    ]) func `whatever a list is called, its directory is one that a list can have`(name: String) throws {
        for number in 1...3 {
            let path = try ListIndex.directory(named: name, from: number) { _ in false }
            #expect(path.kind(isDirectory: true) == .list, "\(path)")
            #expect(path.string.split(separator: "/").allSatisfy { $0.utf8.count <= 255 })
        }
    }

    @Test func `a list that is called like a task's file keeps the rest of its name`() throws {
        #expect(try ListIndex.directory(named: "a/Notes.md") { _ in false }.string == "a/Notes-md")
        #expect(try ListIndex.directory(named: "Notes") { _ in false }.string == "Notes")
    }

    @Test(arguments: 0..<6)
    func `a new list of the name that another had a moment ago keeps its tasks`(round: Int) async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        // At once: the desk may not have heard yet that it has made the directory itself.
        desk.rename("Work", to: "Office")
        #expect(await laptop.has("Office/Ship.md", "now\n"))
        let (here, there) = round % 2 == 0 ? (laptop, desk) : (desk, laptop)
        try here.write("Work/Mend.md", "soon\n")
        for machine in [there, here] {
            #expect(await machine.has("Work/Mend.md", "soon\n"))
            #expect(await machine.has("Office/Ship.md", "now\n"))
            #expect(machine.read("Mend.md") == nil)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test(arguments: [false, true])
    func `a list whose directory has become a file or a link is reported, and other lists go on`(isLink: Bool)
        async throws
    {
        try await withMachines { laptop, desk in
            for name in ["Work/a.md", "Home/b.md"] {
                try laptop.write(name, "x\n")
                #expect(await desk.has(name, "x\n"))
            }
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            laptop.rename("Work", to: "../elsewhere")
            if isLink {
                symlink("../elsewhere", laptop.path("Work"))
            } else {
                try laptop.write("Work", "")
            }
            // A link at once, not only when something is to be written there.
            if isLink {
                #expect(
                    await laptop.eventually {
                        await laptop.sync.allProblems.contains { $0.code == "symbolic-link" && $0.subject == "Work" }
                    })
            }
            try desk.write("Work/c.md", "new\n")
            try desk.write("Home/d.md", "new\n")
            #expect(await laptop.has("Home/d.md", "new\n"))
            #expect(await laptop.eventually { await laptop.sync.allProblems.contains { $0.message.contains("Work") } })
            #expect(await desk.has("Work/a.md", "x\n"))
            guard isLink else { return }
            // Nothing is in the way any more, and what was there is gone.
            laptop.remove("Work")
            #expect(await laptop.has("Work/c.md", "new\n"))
            #expect(await desk.lacks("Work/a.md"))
            #expect(await laptop.eventually { await laptop.sync.allProblems.isEmpty })
        }
    }

    @Test(arguments: [false, true])
    func `a list gets the directory that was made for a list within it before its name came`(isLate: Bool) async throws
    {
        try await withMachines { laptop, desk in
            for name in ["Old/a.md", "Old/Inner/b.md", "Apart/c.md"] {
                try laptop.write(name, "x\n")
                #expect(await desk.has(name, "x\n"))
            }
            for machine in [laptop, desk] {
                #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
            }
            let lists = await laptop.sync.catalog.listNames
            func rename(_ old: String, _ new: String) async throws {
                let list = try #require(lists.first { $0.value == old }?.key)
                try await laptop.client.transaction { transaction in
                    let name = try DocumentName(list: list, in: transaction.databaseName)
                    try transaction.append(.merge(name, [FieldPath(key: "name"): .string(new)]))
                }
            }
            // As the remote may order them that gets both from one machine.
            try await rename("Apart", "New/Apart")
            #expect(await desk.has("New/Apart/c.md", "x\n"))
            if isLate { #expect(await desk.eventually { await desk.sync.catalog.listNames.values.contains("New") }) }
            try await rename("Old/Inner", "New/Inner")
            try await rename("Old", isLate ? "Other" : "New")
            let place = isLate ? "Other" : "New"
            for machine in [laptop, desk] {
                for name in ["\(place)/a.md", "New/Inner/b.md", "New/Apart/c.md"] {
                    #expect(await machine.has(name, "x\n"))
                }
                #expect(await machine.lacks("Old/a.md"))
                #expect(await machine.eventually { await machine.sync.catalog.listNames.count == (isLate ? 4 : 3) })
                #expect(try machine.names("") == [".ferry"] + (isLate ? ["New", "Other"] : ["New"]))
            }
        }
    }

    @Test func `a list that changes only the Unicode form of its name has that name everywhere`() async throws {
        let (composed, decomposed) = ("B\u{FC}ro", "Bu\u{308}ro")
        try await withMachines { laptop, desk in
            try laptop.write("\(composed)/a.md", "x\n")
            #expect(await desk.has("\(composed)/a.md", "x\n"))
            #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
            laptop.rename(composed, to: decomposed)
            #expect(await desk.has("\(decomposed)/a.md", "x\n"))
            #expect(await desk.lacks("\(composed)/a.md"))
            try desk.write("\(decomposed)/b.md", "y\n")
            #expect(await laptop.has("\(decomposed)/b.md", "y\n"))
        }
    }

    @Test func `a directory that a user renames while the list gets another name is that list's`() async throws {
        let disk = MemoryDisk()
        let (laptop, desk) = (try await Machine(store, disk: disk), try await Machine(store))
        try disk.makeDirectories("Work")
        try disk.write("Work/Ship.md", Array("now\n".utf8))
        #expect(await desk.has("Work/Ship.md", "now\n"))
        // Its watches have seen what it made: whoever renames it earlier makes another list.
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        let list = await laptop.sync.catalog.listNames
        disk.meanwhile("rename", "Work") { try $0.rename("Work", to: "Office", .exclusive) }
        desk.rename("Work", to: "Shop")
        #expect(await desk.has("Office/Ship.md", "now\n"))
        #expect((try? disk.read("Office/Ship.md", limit: 10).bytes) == Array("now\n".utf8))
        for machine in [laptop, desk] {
            #expect(
                await machine.eventually { await machine.sync.catalog.listNames == list.mapValues { _ in "Office" } })
            #expect(await machine.hasDisplaced("Shop"))
            #expect(await machine.sync.catalog.trashed.isEmpty)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a new file in the place of one that both sides rename is a task of its own`() async throws {
        let disk = MemoryDisk()
        let (laptop, desk) = (try await Machine(store, disk: disk), try await Machine(store))
        try disk.write("Plan.md", Array("first\n".utf8))
        #expect(await desk.has("Plan.md", "first\n"))
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        let first = try #require(await laptop.sync.catalog.living.map(\.id).first)
        disk.meanwhile("rename", "Plan.md") { disk in
            try disk.rename("Plan.md", to: "Mine.md", .exclusive)
            try disk.write("Plan.md", Array("second\n".utf8))
        }
        desk.rename("Plan.md", to: "Idea.md")
        for machine in [laptop, desk] {
            #expect(await machine.eventually { await machine.hasUnited(2) })
            #expect(await machine.eventually { (try? await machine.sync.detail(first).item.notes) == "first\n" })
            let ids = await machine.sync.catalog.living.map(\.id)
            let second = try #require(ids.first { $0 != first })
            #expect(await machine.eventually { (try? await machine.sync.detail(second).item.notes) == "second\n" })
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a new file whose directory is renamed while it is read says whose it is`() async throws {
        let disk = MemoryDisk()
        let machine = try await Machine(store, disk: disk)
        try disk.makeDirectories("Work")
        #expect(await machine.eventually { await machine.sync.catalog.listNames.count == 1 })
        disk.meanwhile("read the attributes of", "Work/Ship.md") { try $0.rename("Work", to: "Office", .exclusive) }
        try disk.write("Work/Ship.md", Array("now\n".utf8))
        #expect(
            await machine.eventually {
                guard let task = await machine.sync.task(atPath: "Office/Ship.md") else { return false }
                return (try? disk.attributes("Office/Ship.md").map(\.value)) == [Array("\(task)/alice".utf8)]
            })
        #expect(await machine.eventually { await machine.hasUnited(1) })
        await machine.stop()
    }

    @Test func `what is put in the place of a task just after its list was renamed is not that task`() async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        try laptop.write("Mend.md", "soon\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        #expect(await desk.has("Mend.md", "soon\n"))
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        let mend = try #require(await desk.sync.task(atPath: "Mend.md"))
        let ship = try #require(await desk.sync.task(atPath: "Work/Ship.md"))
        try await desk.sync.withExclusiveAccess {
            desk.rename("Work", to: "Office")
            desk.rename("Mend.md", to: "Office/Ship.md")
            // A scan has seen both before the rename of the directory is told of.
            let moved = DebouncedChange.directoryMoved(from: try TaskPath("Work"), to: try TaskPath("Office"))
            try await desk.sync.importChanges([.rescanNeeded(.notWatched), moved])
        }
        for machine in [laptop, desk] {
            #expect(await machine.has("Office/Ship.md", "soon\n"))
            #expect(await machine.eventually { await machine.sync.catalog.trashed.map(\.id) == [ship] })
            #expect(await machine.sync.catalog.living.map(\.id) == [mend])
            #expect(await machine.eventually { await machine.sync.catalog.listNames.values.sorted() == ["Office"] })
        }
        await laptop.stop()
        await desk.stop()
    }

    /// The list's end is read while what the bridge knows of the task is older.
    @Test func `a list is not made again for a task that left it before it was deleted`() async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Office/Ship.md", "now\n")
        try laptop.write("Work/Mend.md", "soon\n")
        #expect(await desk.has("Office/Ship.md", "now\n"))
        #expect(await desk.has("Work/Mend.md", "soon\n"))
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        let office = try #require(await laptop.sync.catalog.listNames.first { $0.value == "Office" }?.key)
        let name = try DocumentName(list: office, in: Machine.database)
        try await laptop.sync.withExclusiveAccess {
            desk.rename("Office/Ship.md", to: "Work/Ship.md")
            rmdir(desk.path("Office"))
            let query = TaskSync.queries(of: UserID("alice"), in: Machine.database)[0]
            for try await lists in laptop.client.snapshots(of: query)
            where !lists.documents.contains(where: { $0.name == name }) { break }
            try await laptop.sync.removeDeletedList(name)
        }
        for machine in [laptop, desk] {
            #expect(await machine.has("Work/Ship.md", "now\n"))
            #expect(await machine.eventually { await machine.sync.catalog.listNames.values.sorted() == ["Work"] })
            #expect(try await !machine.client.document(name).exists)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `of a list that is renamed while nobody watches nothing is left under the old name`() async throws {
        let (laptop, before) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await before.has("Work/Ship.md", "now\n"))
        await before.stop()
        before.rename("Work", to: "Office")
        let desk = try await Machine(store, home: before.home)
        #expect(await laptop.has("Office/Ship.md", "now\n"))
        for machine in [laptop, desk] {
            #expect(
                await machine.eventually { await machine.sync.catalog.listNames.map(\.value) == ["Office"] })
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a move that was made for a list and not noted has put the task into it`() async throws {
        let (laptop, before) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await before.has("Work/Ship.md", "now\n"))
        #expect(await laptop.eventually { await laptop.hasUnited(1) })
        await before.stop()
        // The desk had heard of this, had renamed its file, and died.
        laptop.rename("Work/Ship.md", to: "Ship.md")
        let task = try #require(await laptop.sync.catalog.living.map(\.id).first)
        #expect(await laptop.eventually { await laptop.sync.catalog[task]?.list == nil })
        before.rename("Work/Ship.md", to: "Ship.md")
        let database = try SQLiteDatabase(path: "\(before.root)/replica.db")
        try database.execute("INSERT INTO sync_state VALUES ('move', 'Work/Ship.md' || char(10) || 'Ship.md')", [])
        database.close()
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.eventually { await desk.sync.catalog[task]?.list == nil })
        var edit = TaskEdit()
        edit.listName = "Work"
        try await desk.sync.edit(task, edit)
        for machine in [laptop, desk] { #expect(await machine.has("Work/Ship.md", "now\n")) }
        await laptop.stop()
        await desk.stop()
    }

    @Test(arguments: [false, true])
    func `a directory that is back while the deletes of what was in it are held is the list that it was`(
        isRenamedElsewhere: Bool
    ) async throws {
        let (laptop, before) = (try await Machine(store), try await Machine(store))
        for number in 1...12 { try before.write("Work/Task \(number).md", "\(number)\n") }
        #expect(await laptop.eventually { (1...12).allSatisfy { laptop.read("Work/Task \($0).md") != nil } })
        before.rename("Work", to: "../Away")
        #expect(await before.eventually { await before.sync.heldDeletes.count == 12 })
        #expect(await before.eventually { await before.sync.lists.paths.isEmpty })
        await before.stop()
        let name = isRenamedElsewhere ? "Home" : "Work"
        if isRenamedElsewhere {
            laptop.rename("Work", to: name)
            #expect(await laptop.eventually { await laptop.sync.catalog.listNames.values.contains(name) })
        }
        before.rename("../Away", to: "Work")
        let desk = try await Machine(store, home: before.home)
        #expect(await desk.eventually { await desk.sync.heldDeletes.isEmpty })
        for machine in [laptop, desk] {
            #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
            #expect(await machine.sync.catalog.listNames.count == 1)
            #expect((1...12).allSatisfy { machine.read("\(name)/Task \($0).md") == "\($0)\n" })
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a list that is removed with all in it is gone everywhere, and is back when a task of it is restored`()
        async throws
    {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        // The one that has written the file knows the task; the other may know it a moment later.
        let task = try #require(await desk.sync.catalog.living.map(\.id).first)
        laptop.remove("Work/Ship.md")
        rmdir(laptop.path("Work"))
        for machine in [laptop, desk] {
            #expect(await machine.eventually { await machine.sync.catalog.listNames.isEmpty })
            #expect(await machine.eventually { access(machine.path("Work"), F_OK) != 0 })
        }
        try await desk.sync.restore([task])
        for machine in [laptop, desk] { #expect(await machine.has("Work/Ship.md", "now\n")) }
        await laptop.stop()
        await desk.stop()
    }

    @Test(arguments: [true, false])
    func `a list that is removed while another machine makes a task in it stays`(isRemovedFirst: Bool) async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        let lists = await laptop.sync.catalog.listNames
        for machine in [laptop, desk] { machine.remote.cut(true) }
        laptop.remove("Work/Ship.md")
        rmdir(laptop.path("Work"))
        #expect(await laptop.eventually { await laptop.sync.catalog.listNames.isEmpty })
        try desk.write("Work/Mend.md", "soon\n")
        #expect(await desk.eventually { await desk.hasUnited(2) })
        for machine in isRemovedFirst ? [laptop, desk] : [desk, laptop] {
            machine.remote.cut(false)
            await machine.client.networkChanged()
            #expect(await machine.eventually { await machine.client.currentStatus.pendingCount == 0 })
        }
        for machine in [laptop, desk] {
            #expect(await machine.has("Work/Mend.md", "soon\n"))
            #expect(await machine.lacks("Work/Ship.md"))
            #expect(await machine.eventually { await machine.sync.catalog.listNames == lists })
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test(arguments: 0..<3)
    func `a directory that is renamed takes the lists within it along`(round: Int) async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        let files = ["Plan.md", "Sub/Ship.md", "Sub/Deep/Very/Mend.md", "Other/Call.md"]
        for file in files { try laptop.write("Work/\(file)", "\(file)\n") }
        for machine in [laptop, desk] {
            for file in files { #expect(await machine.has("Work/\(file)", "\(file)\n")) }
            #expect(await machine.eventually { await machine.sync.catalog.listNames.count == 5 })
        }
        let lists = await laptop.sync.catalog.listNames
        let (here, there) = round % 2 == 0 ? (laptop, desk) : (desk, laptop)
        here.rename("Work", to: "Office")
        here.rename("Office/Sub", to: "Part")
        @Sendable func renamed(_ path: String) -> String {
            "Office\(path.dropFirst(4))".replacing("Office/Sub", with: "Part")
        }
        for machine in [here, there] {
            for file in files { #expect(await machine.has(renamed("Work/\(file)"), "\(file)\n")) }
            let isRenamed = await machine.eventually {
                await machine.sync.catalog.listNames == lists.mapValues(renamed)
            }
            let names = await machine.sync.catalog.listNames
            #expect(isRenamed, "\(names)")
            #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
            #expect(access(machine.path("Work"), F_OK) != 0)
        }
        await laptop.stop()
        await desk.stop()
    }

    /// A list without files is recognized by its directory alone.
    @Test func `directories that are renamed while no process runs take the lists within them along`() async throws {
        let laptop = try await Machine(store)
        for file in ["Plan.md", "Sub/Ship.md", "Sub/Deep/Very/Mend.md"] {
            try laptop.write("Work/\(file)", "\(file)\n")
        }
        #expect(await laptop.eventually { await laptop.sync.catalog.listNames.count == 4 })
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        let lists = await laptop.sync.catalog.listNames
        await laptop.stop()
        laptop.rename("Work", to: "Office")
        laptop.rename("Office/Sub/Deep", to: "Part")
        let restarted = try await Machine(store, home: laptop.home)
        let renamed = lists.mapValues { name in
            "Office\(name.dropFirst(4))".replacing("Office/Sub/Deep", with: "Part")
        }
        #expect(await restarted.eventually { await restarted.sync.catalog.listNames == renamed })
        await restarted.stop()
    }

    @Test func `a list that has no directory yet follows the list that it is in`() async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        await laptop.sync.setPaused(true)
        try desk.write("Work/Inner/Mend.md", "soon\n")
        #expect(await desk.eventually { await desk.sync.catalog.listNames.count == 2 })
        let list = try #require(await desk.sync.catalog.listNames.first { $0.value == "Work/Inner" }?.key)
        try await laptop.hasHeard(of: "Work/Inner", for: DocumentName(list: list, in: Machine.database))
        await laptop.stop()
        laptop.rename("Work", to: "Office")
        let restarted = try await Machine(store, home: laptop.home)
        await restarted.sync.setPaused(false)
        for machine in [restarted, desk] {
            #expect(await machine.has("Office/Ship.md", "now\n"))
            #expect(await machine.has("Office/Inner/Mend.md", "soon\n"))
            #expect(await machine.eventually { access(machine.path("Work"), F_OK) != 0 })
            #expect(await machine.sync.catalog.listNames.count == 2)
        }
        await restarted.stop()
        await desk.stop()
    }

    @Test func `the directory of a deleted list goes after a restart, too, when it has become empty`() async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        #expect(await laptop.eventually { (try? await laptop.sync.isSettled()) == true })
        try laptop.write("Work/not-synced.tmp", "x")
        desk.remove("Work/Ship.md")
        rmdir(desk.path("Work"))
        #expect(await laptop.lacks("Work/Ship.md"))
        #expect(await laptop.eventually { await laptop.sync.catalog.listNames.isEmpty })
        await laptop.stop()
        laptop.remove("Work/not-synced.tmp")
        let restarted = try await Machine(store, home: laptop.home)
        #expect(await restarted.eventually { access(restarted.path("Work"), F_OK) != 0 })
        await restarted.stop()
        await desk.stop()
    }

    @Test func `a directory that is no list goes with the last list within it`() async throws {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Sub/Deep/Ship.md", "now\n")
        for machine in [laptop, desk] {
            #expect(await machine.has("Work/Sub/Deep/Ship.md", "now\n"))
            #expect(await machine.eventually { await machine.sync.catalog.listNames.count == 3 })
            #expect(await machine.eventually { (try? await machine.sync.isSettled()) == true })
        }
        await desk.sync.setPaused(true)
        let list = try #require(await desk.sync.catalog.listNames.first { $0.value == "Work/Sub/Deep" }?.key)
        let name = try DocumentName(list: list, in: Machine.database)
        laptop.rename("Work/Sub/Deep", to: "Part")
        try await desk.hasHeard(of: "Part", for: name)
        try await desk.sync.withExclusiveAccess {
            // As if both had been renamed before they were told of.
            await desk.sync.forgetLists(at: ["Work", "Work/Sub"])
            try await desk.sync.exportLists([name])
            #expect(desk.read("Part/Ship.md") == "now\n")
            #expect(access(desk.path("Work"), F_OK) != 0)
        }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a name from elsewhere that a paused machine has not shown yet is kept when its user renames the list`()
        async throws
    {
        let (laptop, desk) = (try await Machine(store), try await Machine(store))
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await desk.has("Work/Ship.md", "now\n"))
        await desk.sync.setPaused(true)
        laptop.rename("Work", to: "Shop")
        let list = try #require(await desk.sync.catalog.listNames.first?.key)
        let name = try DocumentName(list: list, in: Machine.database)
        try await desk.hasHeard(of: "Shop", for: name)
        desk.rename("Work", to: "Office")
        #expect(await laptop.has("Office/Ship.md", "now\n"))
        await desk.sync.setPaused(false)
        for machine in [laptop, desk] { #expect(await machine.hasDisplaced("Shop")) }
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a list that is elsewhere beneath its former place leaves that to the list which has it now`()
        async throws
    {
        try await withMachines { laptop, desk in
            for number in 1...12 { try laptop.write("Work/Task \(number).md", "go\n") }
            #expect(await desk.eventually { await desk.hasUnited(12) })
            // Its deletes are held here, so its tasks live on.
            for number in 1...12 { desk.remove("Work/Task \(number).md") }
            rmdir(desk.path("Work"))
            #expect(await desk.eventually { await desk.sync.heldDeletes.count == 12 })
            laptop.rename("Work", to: "Aside")
            #expect(await laptop.eventually { await laptop.sync.catalog.listNames.values.contains("Aside") })
            mkdir(laptop.path("Work"), 0o700)
            laptop.rename("Aside", to: "Work/Old")
            try laptop.write("Work/New/Task.md", "stay\n")
            #expect(await desk.has("Work/New/Task.md", "stay\n"))
            try await desk.sync.restoreDeletes(desk.sync.heldDeletes.map(\.entry.id))
            #expect(await desk.has("Work/Old/Task 12.md", "go\n"))
            #expect(desk.read("Work/New/Task.md") == "stay\n")
        }
    }

    @Test func `a list that somebody deletes beneath its tasks, and does not come back, is made again`() async throws {
        let laptop = try await Machine(store)
        try laptop.write("Work/Ship.md", "now\n")
        #expect(await laptop.eventually { await laptop.hasUnited(1) })
        let list = try #require(await laptop.sync.catalog.listNames.keys.first)
        let name = try DocumentName(list: list, in: Machine.database)
        #expect(await laptop.eventually { await laptop.client.currentStatus.pendingCount == 0 })
        let deleted = try await laptop.remote.commit([Write(.delete(name))]).commitTime
        #expect(
            await laptop.eventually {
                guard let view = try? await laptop.client.document(name) else { return false }
                return view["name"] == .string("Work") && view.createTime.map { $0 > deleted } == true
            })
        #expect(laptop.read("Work/Ship.md") == "now\n")
        await laptop.stop()
    }

    @Test func `a directory that stays for a list within it goes to the next list of its name`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Work/Sub/First.md", "one\n")
            #expect(await desk.has("Work/Sub/First.md", "one\n"))
            // Its watches have seen what it made: whoever renames it earlier makes another list.
            #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
            // A list that is made as Home now is another one.
            desk.rename("Work", to: "Home")
            #expect(await laptop.has("Home/Sub/First.md", "one\n"))
            desk.remote.cut(true)
            try desk.write("Home/Sub/Second.md", "two\n")
            #expect(await desk.eventually { await desk.sync.catalog.living.map(\.id).count == 2 })
            laptop.remove("Home/Sub/First.md")
            rmdir(laptop.path("Home/Sub"))
            rmdir(laptop.path("Home"))
            #expect(await laptop.eventually { await laptop.sync.catalog.listNames.isEmpty })
            desk.remote.cut(false)
            #expect(await laptop.has("Home/Sub/Second.md", "two\n"))
            try laptop.write("Home/Third.md", "three\n")
            #expect(await desk.has("Home/Third.md", "three\n"))
        }
    }
}

extension Machine {
    /// Waits until its replica has this name for a list.
    fileprivate func hasHeard(of title: String, for list: DocumentName) async throws {
        while case let (view, last) = try await client.reading({ (try $0.document(list), $0.latestSequence) }),
            view["name"] != .string(title)
        {
            try await client.waitForChanges(after: last)
        }
    }
}

extension TaskSync {
    /// The directories are there, and are lists that nobody knows.
    fileprivate func forgetLists(at paths: Set<String>) {
        for (list, path) in lists.paths where paths.contains(path.string) { lists.remove(list) }
    }
}
