import DocumentStore
import Simulation
import TaskModel
import Testing

@testable import TaskSync

/// Two machines with different tables of words, as those of two versions of Ferry.
@Suite(.serialized) struct VocabularyTests {
    private static let own = TaskVocabulary(
        statuses: [.init(open: ["offen"], done: ["erledigt"])], priorities: [.init(.high, ["dringend"])])

    private func edit(_ machine: Machine, _ change: (inout TaskEdit) -> Void) async throws {
        let id = try #require(await task(machine)?.id)
        var edit = TaskEdit()
        change(&edit)
        try await machine.sync.edit(id, edit)
    }

    private func task(_ machine: Machine, _ title: String = "Paint") async -> TaskCatalog.Entry? {
        await machine.sync.catalog.living.first { $0.title == title }
    }

    private func isCompleted(_ machine: Machine) async -> Bool? { await task(machine)?.isCompleted }

    @Test func `machines with different words do not write to each other`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let new = try await Machine(store, vocabulary: Self.own)
        let old = try await Machine(store)
        try new.write("Paint.md", "---\nstatus: offen\npriority: dringend\n---\n")
        #expect(await old.has("Paint.md", "---\nstatus: offen\npriority: dringend\n---\n"))
        try await edit(new) { $0.isCompleted = true }
        let done = "---\nstatus: erledigt\npriority: dringend\n---\n"
        #expect(await new.has("Paint.md", done))
        #expect(await old.has("Paint.md", done))
        #expect(await isCompleted(new) == true)
        // The old one sees an open task, and leaves it alone.
        #expect(await isCompleted(old) == false)
        #expect(await task(new)?.priority == .high)
        // A change of the old one keeps the words that it does not know.
        try await edit(old) { $0.due = .some(Due(parsing: "2026-11-30")) }
        let dated = "---\nstatus: erledigt\npriority: dringend\ndue: 2026-11-30\n---\n"
        #expect(await new.has("Paint.md", dated))
        #expect(await isCompleted(new) == true)
        // It completes the task in its own way, which the new one understands, and reopens in both ways.
        try await edit(old) { $0.isCompleted = true }
        #expect(await new.eventually { new.read("Paint.md")?.contains("completed: true") == true })
        try await edit(new) { $0.isCompleted = false }
        let open = "---\nstatus: offen\npriority: dringend\ndue: 2026-11-30\n---\n"
        #expect(await old.has("Paint.md", open))
        #expect(await new.has("Paint.md", open))
        #expect(await isCompleted(old) == false)
        #expect(await isCompleted(new) == false)
        await new.stop()
        await old.stop()
    }

    @Test func `a machine that learns words at a restart changes neither files nor documents`() async throws {
        let store = MemoryDocumentStore(Machine.database)
        let before = try await Machine(store)
        let text = "---\nstatus: erledigt\nTags: a b\npriority: dringend\ncompletedDate: 2026-11-28\n---\nx\n"
        try before.write("Paint.md", text)
        try before.write("Sweep.md", "---\nrecurrence: FREQ=DAILY\nscheduled: 2026-11-28\nstatus: erledigt\n---\n")
        #expect(await before.eventually { await before.hasUnited(2) && before.commitCount > 0 })
        let other = try await Machine(store)
        #expect(await other.has("Paint.md", text))
        await before.stop()
        let after = try await Machine(store, home: before.home, vocabulary: Self.own)
        #expect(await after.eventually { await after.hasUnited(2) })
        #expect(await after.sync.catalog.living.allSatisfy { $0.isCompleted })
        #expect(await task(after)?.tags == ["a", "b"])
        try after.write("Marker.md", "")
        #expect(await other.has("Marker.md", ""))
        #expect(other.read("Paint.md") == text && after.read("Paint.md") == text)
        #expect(after.commitCount == 1)
        #expect(after.read("Sweep.md") == "---\nrecurrence: FREQ=DAILY\nscheduled: 2026-11-28\nstatus: erledigt\n---\n")
        await after.stop()
        await other.stop()
    }
}
