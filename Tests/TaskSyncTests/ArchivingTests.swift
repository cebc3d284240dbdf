import DocumentClient
import Simulation
import TaskModel
import Testing

@testable import TaskSync

/// Occurrences of recurring tasks that are kept as tasks of their own.
@Suite(.serialized) struct ArchivingTests {
    private let head = "---\nrecurrence: FREQ=DAILY\ndue: 2026-11-28\ntags: [home]\n"

    private func series(_ machine: Machine) async throws -> TaskID {
        // The other machine may have the task before this one has put it into its catalog.
        _ = await machine.eventually { await machine.sync.catalog.living.contains { $0.title == "Water" } }
        return try #require(await machine.sync.catalog.living.first { $0.title == "Water" }?.id)
    }

    private func complete(_ machine: Machine, archives: Bool = false, _ isCompleted: Bool = true) async throws {
        var edit = TaskEdit()
        edit.isCompleted = isCompleted
        edit.archivesOccurrence = archives
        edit.today = CivilDate("2026-11-28")
        try await machine.sync.edit(try await series(machine), edit)
    }

    private let copy = "---\ndue: 2026-11-28\ntags: [home]\ncompleted: true\noccurrence_date: 2026-11-28\n---\nCan\n"

    @Test func `an occurrence that two machines complete offline is one task, also where its series is edited`()
        async throws
    {
        try await withMachines { laptop, desk in
            try laptop.write("Water.md", "\(head)---\nCan\n")
            #expect(await desk.has("Water.md", "\(head)---\nCan\n"))
            for machine in [laptop, desk] { machine.remote.cut(true) }
            for machine in [laptop, desk] { try await complete(machine, archives: true) }
            #expect(laptop.read("Water 2026-11-28.md") == copy)
            #expect(desk.read("Water 2026-11-28.md") == copy)
            for machine in [laptop, desk] {
                machine.remote.cut(false)
                await machine.client.networkChanged()
                #expect(try await machine.eventually { try await machine.client.pendingMutations().isEmpty })
            }
            for machine in [laptop, desk] {
                #expect(await machine.eventually { await machine.hasUnited(2) })
                #expect(machine.read("Water 2026-11-28.md") == copy)
                #expect(await machine.sync.conflictCount == 0)
                #expect(machine.read("Water.md")?.contains("due: 2026-11-29\n") == true)
            }
        }
    }

    @Test func `undo and a reopened occurrence take the task along, and completing it again brings it back`()
        async throws
    {
        try await withMachines { laptop, desk in
            try laptop.write("Water.md", "\(head)archive: each\n---\nCan\n")
            #expect(await desk.has("Water.md", "\(head)archive: each\n---\nCan\n"))
            try await complete(laptop)
            #expect(await desk.has("Water 2026-11-28.md", copy))
            let undone = try await laptop.sync.undo(nil, isTrial: false)
            #expect(undone.count == 2)
            #expect(await desk.lacks("Water 2026-11-28.md"))
            #expect(await desk.has("Water.md", "\(head)archive: each\n---\nCan\n"))
            try await complete(desk)
            #expect(await laptop.has("Water 2026-11-28.md", copy))
            try laptop.write("Water 2026-11-28.md", copy + "5 l\n")
            #expect(await desk.has("Water 2026-11-28.md", copy + "5 l\n"))
            try await complete(laptop, false)
            #expect(await desk.lacks("Water 2026-11-28.md"))
            #expect(try await laptop.sync.undo(nil, isTrial: false).count == 2)
            #expect(await desk.has("Water 2026-11-28.md", copy + "5 l\n"))
            try await complete(laptop, false)
            #expect(await desk.lacks("Water 2026-11-28.md"))
            try await complete(desk)
            #expect(await laptop.has("Water 2026-11-28.md", copy + "5 l\n"))
            #expect(await laptop.sync.catalog.count == 2)
        }
    }

    @Test func `a completion in an editor keeps the occurrence, and dates that are added by hand do not`()
        async throws
    {
        try await withMachines { laptop, desk in
            let text = "\(head)checklist: reset\narchive: each\nstatus: open\n---\n- [x] Can\n"
            try laptop.write("Water.md", text)
            #expect(await desk.has("Water.md", text))
            try laptop.write("Water.md", text.replacing("status:", with: "completed: true\nstatus:"))
            let copy = """
                ---
                due: 2026-11-28
                tags: [home]
                occurrence_date: 2026-11-28
                status: done
                ---
                - [x] Can

                """
            #expect(await desk.has("Water 2026-11-28.md", copy))
            #expect(await laptop.eventually { laptop.read("Water.md")?.contains("- [ ] Can") == true })
            let now = try #require(laptop.read("Water.md"))
            try laptop.write(
                "Water.md", now.replacing("complete_instances: [", with: "complete_instances: [2026-11-20, "))
            #expect(await desk.eventually { desk.read("Water.md")?.contains("2026-11-20") == true })
            #expect(await desk.sync.catalog.count == 2)
            // Nor are tasks deleted whose days are taken away by hand.
            try await complete(laptop)
            #expect(await desk.eventually { await desk.sync.catalog.count == 3 })
            let later = try #require(laptop.read("Water.md"))
            try laptop.write(
                "Water.md",
                later.replacing("complete_instances: [2026-11-20, 2026-11-28, ", with: "complete_instances: ["))
            #expect(await desk.eventually { desk.read("Water.md")?.contains("2026-11-28,") == false })
            #expect(await desk.sync.catalog.count == 3)
        }
    }

    @Test func `one call reopens a series that its status and its last occurrence ended`() async throws {
        try await withMachines { laptop, _ in
            let text = "---\nrecurrence: FREQ=DAILY;COUNT=1\ndue: 2026-11-28\nstatus: open\n---\n"
            try laptop.write("Water.md", text)
            #expect(await laptop.eventually { await laptop.hasUnited(1) })
            try await complete(laptop)
            let over = try #require(laptop.read("Water.md"))
            #expect(over.contains("completed: true"))
            try laptop.write("Water.md", over.replacing("status: open", with: "status: done"))
            try await complete(laptop, false)
            let reopened = try #require(laptop.read("Water.md"))
            #expect(reopened.contains("status: open") && !reopened.contains("completed"), "\(reopened)")
            #expect(!reopened.contains("complete_instances") && reopened.contains("due: 2026-11-28"), "\(reopened)")
        }
    }
}
