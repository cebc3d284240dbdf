import DocumentClient
import DocumentModel
import DocumentStore
import FirestoreProtocol
import Reconciliation
import Simulation
import Synchronization
import SystemTestKit
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// What leaves the trash for good, and when.
struct RetentionTests {
    private static let day: Int64 = 86_400

    /// The time everywhere, in seconds since 1970, unless a test sets one clock only.
    private final class Clocks: Sendable {
        let remote = Mutex<Int64>(1_790_000_000)
        let local = Mutex<Int64>(1_790_000_000)

        func pass(days: Int64) {
            remote.withLock { $0 += days * day }
            local.withLock { $0 += days * day }
        }
    }

    private let clocks = Clocks()
    private let store: MemoryDocumentStore

    init() {
        store = MemoryDocumentStore(Machine.database) { [clocks] in clocks.remote.withLock { $0 * 1_000_000 } }
    }

    private func machine(home: TemporaryDirectory? = nil, trashDays: Int = 30) async throws -> Machine {
        try await Machine(store, home: home, trashDays: trashDays) { [clocks] in clocks.local.withLock(\.self) }
    }

    /// The titles that the remote has, living or not.
    private func titles() async throws -> Set<String> {
        let query = Query(parent: ParentName(Machine.database), collectionID: "tasks")
        var titles: Set<String> = []
        for try await document in try await store.query(query).documents {
            titles.insert(try Document(document).fields["title"]?.stringValue ?? "")
        }
        return titles
    }

    private func historyCount() async throws -> Int {
        let query = Query(
            parent: ParentName(Machine.database), collectionID: TaskHistory.collection, allDescendants: true)
        var count = 0
        for try await _ in try await store.query(query).documents { count += 1 }
        return count
    }

    private func localTrash(_ machine: Machine) throws -> [String] {
        try DirectoryTaskFolder(path: machine.path("")).trashEntries().flatMap(\.origins).map(\.string)
    }

    /// A change that every machine hears of, and with it the remote's time.
    private func tick(_ machines: Machine...) async throws {
        let time = clocks.remote.withLock(\.self)
        try machines[0].write("Tick.md", "\(time)\n")
        for machine in machines {
            #expect(await machine.has("Tick.md", "\(time)\n"))
            #expect(
                try await machine.eventually {
                    let heard = try await machine.client.reading { try $0.remoteTime?.microseconds }
                    return try await machine.sync.isSettled() && heard ?? 0 >= time * 1_000_000
                })
        }
    }

    @Test(arguments: [
        (30, 30, 30, true), (30, 29, 31, false), (30, 31, 29, false), (30, 31, -20_000, false), (0, 400, 400, false),
        (7, 7, 7, true), (.max, 400, 400, false),
    ])
    func `both clocks have to say so`(days: Int, remote: Int64, local: Int64, isOver: Bool) {
        let start = Retention.Moment(Timestamp(microseconds: 1_790_000_000_000_000))
        let now = Retention.Moment(
            server: Timestamp(microseconds: start.server.microseconds + remote * Self.day * 1_000_000),
            machine: start.machine + local * Self.day)
        #expect(Retention(days: days).isOver(since: start, at: now) == isOver)
        let absurd = Retention.Moment(server: Timestamp(microseconds: .min), machine: .min)
        #expect(!Retention(days: days).isOver(since: absurd, at: now))
    }

    @Test func `a local trash that cannot be looked through is told of`() async throws {
        let machine = try await machine()
        try await tick(machine)
        // A file where there should be a directory.
        try machine.write(".ferry/trash", "")
        #expect(try await machine.eventually { try await trashProblem(of: machine) != nil })
        machine.remove(".ferry/trash")
        #expect(try await machine.eventually { try await trashProblem(of: machine) == nil })
    }

    /// After a look, which there is only while nothing is under way.
    private func trashProblem(of machine: Machine) async throws -> SyncProblem? {
        try await machine.sync.emptyTrash()
        return await machine.sync.allProblems.first { $0.code == "trash" }
    }

    @Test func `what a save put away goes from the history after thirty days`() async throws {
        let (laptop, desk) = (try await machine(), try await machine())
        try laptop.write("Day.md", "one\n")
        #expect(await desk.has("Day.md", "one\n"))
        try laptop.write("Day.md", "one\ncall the bank\n")
        #expect(await desk.has("Day.md", "one\ncall the bank\n"))
        #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
        // An editor that has not looked at the file since.
        try desk.write("Day.md", "one\nevening\n")
        #expect(await laptop.has("Day.md", "one\nevening\n"))
        #expect(await laptop.hasDisplaced("one\ncall the bank\n"))
        #expect(await laptop.sync.conflictCount == 0)
        try await tick(laptop, desk)
        for machine in [laptop, desk] { try await machine.sync.emptyTrash() }
        #expect(try await historyCount() == 1)
        clocks.pass(days: 31)
        try await tick(laptop, desk)
        for machine in [laptop, desk] { try await machine.sync.emptyTrash() }
        #expect(try await historyCount() == 0)
    }

    @Test func `a task goes for good after thirty days, with its history and its file`() async throws {
        let (laptop, desk) = (try await machine(), try await machine())
        try laptop.write("Old.md", "one\n")
        try laptop.write("New.md", "one\n")
        #expect(await desk.has("Old.md", "one\n"))
        try await tick(laptop, desk)
        // Something for the history.
        desk.remote.cut(true)
        try desk.write("Old.md", "two\n")
        #expect(try await desk.eventually { try await desk.client.pendingMutations().count == 1 })
        let commits = laptop.commitCount
        try laptop.write("Old.md", "three\n")
        #expect(await laptop.eventually { laptop.commitCount > commits })
        desk.remote.cut(false)
        await desk.client.networkChanged()
        #expect(await laptop.has("Old.md", "two\n"))
        #expect(try await historyCount() == 1)
        laptop.remove("Old.md")
        #expect(await desk.lacks("Old.md"))
        for machine in [laptop, desk] { try await machine.sync.emptyTrash() }
        clocks.pass(days: 31)
        laptop.remove("New.md")
        #expect(await desk.lacks("New.md"))
        try await tick(laptop, desk)
        #expect(try localTrash(desk) == ["Old.md", "New.md"])

        try await laptop.sync.emptyTrash()
        #expect(try await titles() == ["New", "Tick"])
        #expect(try await historyCount() == 0)
        for machine in [laptop, desk] {
            #expect(await machine.eventually { await machine.sync.catalog.trashed.map(\.title) == ["New"] })
        }
        try await desk.sync.emptyTrash()
        #expect(try localTrash(desk) == ["New.md"])
        await laptop.stop()
        await desk.stop()
    }

    @Test(arguments: [true, false])
    func `a clock that jumps takes nothing away`(isRemote: Bool) async throws {
        let (laptop, desk) = (try await machine(), try await machine())
        try laptop.write("Old.md", "one\n")
        #expect(await desk.has("Old.md", "one\n"))
        laptop.remove("Old.md")
        #expect(await desk.lacks("Old.md"))
        try await desk.sync.emptyTrash()
        if isRemote {
            clocks.remote.withLock { $0 += 44 * 365 * Self.day }
        } else {
            clocks.local.withLock { $0 += 44 * 365 * Self.day }
        }
        try await tick(laptop, desk)
        for machine in [laptop, desk] { try await machine.sync.emptyTrash() }
        #expect(try await titles() == ["Old", "Tick"])
        #expect(try localTrash(desk) == ["Old.md"])
        await laptop.stop()
        await desk.stop()
    }

    @Test func `a machine that was away for longer than the trash keeps has only its edits back`() async throws {
        let (before, desk) = (try await machine(), try await machine())
        try before.write("Same.md", "one\n")
        try before.write("Edited.md", "one\n")
        #expect(await desk.has("Edited.md", "one\n"))
        #expect(await desk.has("Same.md", "one\n"))
        try await tick(before, desk)
        await before.stop()
        desk.remove("Same.md")
        desk.remove("Edited.md")
        #expect(await desk.eventually { await desk.sync.catalog.trashed.count { !$0.isPending } == 2 })
        clocks.pass(days: 40)
        try await tick(desk)
        try await desk.sync.emptyTrash()
        #expect(try await titles() == ["Tick"])
        clocks.pass(days: 1)

        try before.write("Edited.md", "one\ntwo\n")
        let laptop = try await machine(home: before.home)
        #expect(await desk.has("Edited.md", "one\ntwo\n"))
        #expect(await laptop.lacks("Same.md"))
        #expect(laptop.read("Edited.md") == "one\ntwo\n")
        #expect(try await titles() == ["Edited", "Tick"])
        #expect(try localTrash(laptop) == ["Same.md"])
        await laptop.stop()
        await desk.stop()
    }

    private func look(_ machine: Machine) async throws {
        #expect(await machine.eventually { await machine.client.currentStatus.isCurrent })
        try await machine.sync.emptyTrash()
    }

    @Test func `what was put aside goes like the files of the trash, by both clocks`() async throws {
        let desk = try await machine()
        try desk.write(".ferry/recovered/1f", "words\n")
        try desk.write(".ferry/recovered/2f/in/a.md", "more\n")
        try await tick(desk)
        #expect(try await desk.sync.recovered() == (2, nil))
        try await look(desk)
        let end = try #require(try await desk.sync.recovered().goes)
        #expect(end.seconds == clocks.remote.withLock(\.self) + 30 * Self.day)

        // One clock is not enough, whichever.
        clocks.remote.withLock { $0 += 31 * Self.day }
        try await tick(desk)
        try await look(desk)
        clocks.local.withLock { $0 += 29 * Self.day }
        try await look(desk)
        #expect(try await desk.sync.recovered() == (2, end))
        // What comes in between counts from when it was seen.
        try desk.write(".ferry/recovered/3f", "late\n")
        try await look(desk)
        clocks.local.withLock { $0 += 2 * Self.day }
        try await look(desk)
        #expect(desk.read(".ferry/recovered/1f") == nil && desk.read(".ferry/recovered/2f/in/a.md") == nil)
        #expect(desk.read(".ferry/recovered/3f") == "late\n")

        // A name that is there again says nothing of when.
        try desk.write(".ferry/recovered/1f", "words\n")
        try await look(desk)
        #expect(try await desk.sync.recovered().count == 2)
        clocks.pass(days: 31)
        try await tick(desk)
        try await look(desk)
        #expect(try await desk.sync.recovered() == (0, nil))
        await desk.stop()
    }

    @Test func `what was put aside stays for ever where the trash does`() async throws {
        let desk = try await machine(trashDays: 0)
        try desk.write(".ferry/recovered/1f", "words\n")
        try await tick(desk)
        for _ in 1...2 {
            try await look(desk)
            clocks.pass(days: 400)
            try await tick(desk)
        }
        #expect(try await desk.sync.recovered() == (1, nil))
        await desk.stop()
    }

    @Test func `what is kept for ever, or beyond all times, has no last day`() {
        let start = Timestamp(microseconds: 1_790_000_000_000_000)
        #expect(Retention(days: 30).end(since: start)?.microseconds == 1_792_592_000_000_000)
        #expect(Retention(days: 0).end(since: start) == nil && Retention(days: .max).end(since: start) == nil)
        #expect(Retention(days: 1).end(since: Timestamp(microseconds: .max)) == nil)
    }

    @Test func `what another machine brings back at the last moment stays`() async throws {
        let (laptop, desk) = (try await machine(), try await machine())
        try laptop.write("Old.md", "one\n")
        #expect(await desk.has("Old.md", "one\n"))
        laptop.remove("Old.md")
        #expect(await desk.lacks("Old.md"))
        clocks.pass(days: 31)
        try await tick(laptop, desk)
        let task = try #require(await desk.sync.catalog.trashed.first?.id)
        desk.remote.cut(true)
        try await desk.sync.restore([task])
        try await laptop.sync.emptyTrash()
        #expect(try await titles() == ["Tick"])
        desk.remote.cut(false)
        await desk.client.networkChanged()
        #expect(await laptop.has("Old.md", "one\n"))
        #expect(await desk.has("Old.md", "one\n"))
        await laptop.stop()
        await desk.stop()
    }
}
