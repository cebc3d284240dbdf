import DocumentClient
import DocumentModel
import Simulation
import TaskModel
import Testing

@testable import TaskSync

/// Who set what, what gave way, and the way back.
@Suite(.serialized) struct HistoryTests {
    private func task(of machine: Machine) async throws -> TaskID {
        // Another machine may well have a task before the bridge here has told the catalog.
        #expect(await machine.eventually { await machine.sync.catalog.count > 0 })
        let ids = await machine.sync.catalog.living.map(\.id)
        return try #require(ids.first)
    }

    /// Both machines change the same file while neither reaches the other; laptop's change is ordered first.
    private func editApart(
        _ laptop: Machine, _ desk: Machine, name: String, _ first: String, _ second: String
    ) async throws {
        laptop.remote.cut(true)
        desk.remote.cut(true)
        try laptop.write(name, first)
        try desk.write(name, second)
        for machine in [laptop, desk] {
            #expect(try await machine.eventually { try await machine.client.pendingMutations().count == 1 })
        }
        for machine in [laptop, desk] {
            machine.remote.cut(false)
            await machine.client.networkChanged()
            #expect(try await machine.eventually { try await machine.client.pendingMutations().isEmpty })
        }
    }

    @Test func `each field tells who set it, when, and by which rule`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("List.md", "---\npriority: low\n---\na\nb\nc\nd\ne\n")
            #expect(await desk.has("List.md", "---\npriority: low\n---\na\nb\nc\nd\ne\n"))
            let (first, second) = (
                ReplicaID(try await laptop.client.reading { $0.replicaID }),
                ReplicaID(try await desk.client.reading { $0.replicaID })
            )
            try await editApart(
                laptop, desk, name: "List.md", "---\npriority: high\ndue: 2026-12-01\n---\nA\nb\nc\nd\ne\n",
                "---\npriority: medium\n---\na\nb\nc\nd\nE\n")
            let merged = "---\npriority: medium\ndue: 2026-12-01\n---\nA\nb\nc\nd\nE\n"
            #expect(await laptop.has("List.md", merged))
            #expect(await desk.has("List.md", merged))
            let task = try await task(of: laptop)
            let (here, there) = (try await laptop.sync.origins(of: task), try await desk.sync.origins(of: task))
            #expect(here.created.replica == first && here.created.time != nil)
            #expect(here.fields == there.fields)
            #expect(here.fields["due"]?.replica == first && here.fields["due"]?.rule == nil)
            #expect(here.fields["priority"]?.replica == second)
            #expect(here.fields["priority"]?.rule == "changedOnBothSides")
            #expect(here.fields["notes"]?.replica == second && here.fields["notes"]?.rule == "merged")
            #expect(here.fields["title"] == nil)
            #expect(here.fields.values.allSatisfy { $0.time != nil })
            #expect(here.updateTime == here.fields["notes"]?.time)
            #expect(here.values.map(\.path.description) == ["completed", "due", "notes", "priority", "title"])

            #expect(try await laptop.eventually { try await laptop.sync.history(of: task).count == 1 })
            let entry = try #require(try await laptop.sync.history(of: task).first)
            #expect(entry.field == "priority" && entry.displaced == .integer(0) && entry.isOpen)
            #expect(entry.replica == second && entry.origin?.replica == first)
            #expect(entry.replacedTime == here.fields["priority"]?.time)
        }
    }

    @Test func `values that one commit displaced one after the other are each told`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Call.md", "")
            #expect(await desk.has("Call.md", ""))
            let task = try await task(of: laptop)
            // As a change leaves it that was carried over to two versions of others before the remote took it.
            let writes = try [("merge1-0", "fields.project", "first"), ("merge2-0", "fields.project", "second")].map {
                Mutation.set(
                    try DocumentName(database: Machine.database, path: "tasks/\(task)/history/\($0.0)"),
                    [
                        "field": .string($0.1), "value": .string($0.2), "userId": "alice", "replica": "r",
                        "reason": "changedOnBothSides",
                    ], transforms: [FieldTransform(FieldPath(key: "replacedTime"), .serverTimestamp)])
            }
            try await laptop.client.write(writes, asOne: true)
            for machine in [laptop, desk] {
                #expect(try await machine.eventually { try await machine.sync.history(of: task).count == 2 })
                let values = try await machine.sync.history(of: task).compactMap(\.displaced?.stringValue)
                #expect(Set(values) == ["first", "second"])
            }
        }
    }

    @Test func `a date and its time are one conflict, and come back together`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Call.md", "")
            #expect(await desk.has("Call.md", ""))
            try await editApart(
                laptop, desk, name: "Call.md", "---\ndue: 2026-12-01T10:00Z\n---\n", "---\ndue: 2026-12-02\n---\n")
            #expect(await laptop.has("Call.md", "---\ndue: 2026-12-02\n---\n"))
            #expect(try await laptop.eventually { try await laptop.sync.conflicts().count == 1 })
            #expect(await laptop.eventually { await laptop.sync.conflictCount == 1 })
            let conflict = try #require(try await laptop.sync.conflicts().first)
            #expect(conflict.field == "due")
            try await laptop.sync.resolve([conflict.id], takingDisplaced: true)
            #expect(await desk.has("Call.md", "---\ndue: 2026-12-01T10:00Z\n---\n"))
            #expect(try await desk.eventually { try await desk.sync.conflicts().isEmpty })
            #expect(try await desk.sync.history(of: task(of: desk)).count == 1)
        }
    }

    @Test func `a delete that an edit displaced can be taken after all`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("Note.md", "one\n")
            #expect(await desk.has("Note.md", "one\n"))
            desk.remote.cut(true)
            try desk.write("Note.md", "two\n")
            #expect(try await desk.eventually { try await desk.client.pendingMutations().count == 1 })
            laptop.remove("Note.md")
            #expect(await laptop.eventually { await laptop.sync.catalog.count == 0 })
            #expect(try await laptop.eventually { try await laptop.client.pendingMutations().isEmpty })
            desk.remote.cut(false)
            await desk.client.networkChanged()
            #expect(await laptop.has("Note.md", "two\n"))
            #expect(try await laptop.eventually { try await laptop.sync.conflicts().count == 1 })
            let conflict = try #require(try await laptop.sync.conflicts().first)
            #expect(conflict.isDelete)
            #expect(try await conflict.origin?.replica?.rawValue == laptop.client.reading { $0.replicaID })
            try await laptop.sync.resolve([conflict.id], takingDisplaced: true)
            #expect(await desk.lacks("Note.md"))
            #expect(await desk.eventually { await desk.sync.catalog.trashed.count == 1 })
        }
    }

    @Test func `a removed attachment leaves no entry behind, a removed field does`() throws {
        let name = try DocumentName(database: Machine.database, collection: "tasks", id: "t")
        let file = FieldPath(key: "attachments").appending("a1")
        let color = FieldPath(key: "fields").appending("color")
        let signed = Mutation.merge(name, [file: nil, color: nil]).signed(by: ReplicaID("desk"))
        let origins = FieldPath(key: "origins")
        #expect(signed.mask.contains(origins.appending("attachments.a1")))
        #expect(signed.transforms.map(\.path) == [origins.appending("fields.color").appending("time")])
        #expect(signed.fields.value(at: ["origins", "fields.color", "by"]) == .string("desk"))
    }

    @Test func `an attachment says itself when it came, and its entry by whom`() throws {
        let name = try DocumentName(database: Machine.database, collection: "tasks", id: "t")
        let file = FieldPath(key: "attachments").appending("a1")
        let time = FieldTransform(file.appending("createdTime"), .serverTimestamp)
        let signed = Mutation.merge(name, [file: .map([:])], transforms: [time]).signed(by: ReplicaID("desk"))
        let entry = FieldPath(key: "origins").appending("attachments.a1")
        // An older entry may have had a time and a rule.
        #expect(signed.mask == [file, entry])
        #expect(signed.transforms == [time])
        let stands = TaskOrigin(
            signed.fields.value(at: entry.segments[...]), of: .map(["createdTime": .timestamp(.distantPast)]))
        #expect(stands == TaskOrigin(replica: ReplicaID("desk"), time: .distantPast))
    }

    // MARK: Undo

    private func titled(_ title: String) -> TaskEdit {
        var edit = TaskEdit()
        edit.title = title
        return edit
    }

    @Test func `the last command is undone as a new change, and the one before it next`() async throws {
        try await withMachines { laptop, desk in
            var edit = TaskEdit()
            edit.title = "Buy milk"
            let task = try await laptop.sync.add(edit)
            edit = TaskEdit()
            edit.priority = .some(.high)
            edit.addTags = ["errands"]
            try await laptop.sync.edit(task, edit)
            #expect(await desk.has("Buy milk.md", "---\npriority: high\ntags: [errands]\n---\n"))
            let trial = try await laptop.sync.undo(nil, isTrial: true)
            #expect(trial.first?.fields.map(\.path.description) == ["priority", "tags"])
            #expect(laptop.read("Buy milk.md") == "---\npriority: high\ntags: [errands]\n---\n")
            _ = try await laptop.sync.undo(nil, isTrial: false)
            #expect(await desk.eventually { desk.read("Buy milk.md")?.contains("priority") == false })
            let removed = try await laptop.sync.undo(nil, isTrial: false)
            #expect(removed.first?.kind == .removed)
            #expect(await desk.lacks("Buy milk.md"))
            await #expect(throws: TaskSyncError.self) { try await laptop.sync.undo(nil, isTrial: false) }
        }
    }

    @Test func `a busy other side drives out no command, and only so many commands are kept`() async throws {
        try await withMachines { laptop, _ in
            // The bridge has made its tables.
            _ = try await laptop.sync.add(titled("There"))
            let item = TaskItem(title: "t")
            try await laptop.client.transaction { transaction in
                let undo = UndoSteps(transaction)
                try undo.add([UndoStep(.edit, "a", before: item, after: TaskItem(title: "u"))], at: 0)
                for round in 0..<4 {
                    try undo.add(
                        (0..<200).map { UndoStep(.sync, TaskID("\(round) \($0)"), before: item, after: item) }, at: 0)
                }
                #expect(try undo.lastCommand().map(\.task) == ["a"])
                #expect(try undo.last(undoable: "0 199") == nil)
                #expect(try undo.last(undoable: "3 0") != nil)
                for number in 0..<600 { try undo.add([UndoStep(.remove, TaskID("c\(number)"))], at: 0) }
                #expect(try undo.last(undoable: "a") == nil)
                #expect(try undo.last(undoable: "c99") == nil)
                #expect(try undo.last(undoable: "c100") != nil)
                #expect(try undo.last(undoable: "3 0") != nil)
            }
        }
    }

    @Test func `several tasks that one command deleted come back together`() async throws {
        try await withMachines { laptop, _ in
            var tasks: [TaskID] = []
            for title in ["One", "Two", "Three"] {
                var edit = TaskEdit()
                edit.title = title
                tasks.append(try await laptop.sync.add(edit))
            }
            try await laptop.sync.remove([tasks[0], tasks[1]])
            #expect(await laptop.sync.catalog.count == 1)
            let undone = try await laptop.sync.undo(nil, isTrial: false)
            #expect(Set(undone.map(\.task)) == [tasks[0], tasks[1]] && undone.allSatisfy { $0.kind == .restored })
            #expect(await laptop.sync.catalog.count == 3)
        }
    }

    @Test func `a buffer from before two versions leaves what both brought in the history, and is undone`() async throws
    {
        try await withMachines { laptop, desk in
            try laptop.write("Day.md", "one\n")
            #expect(await desk.has("Day.md", "one\n"))
            let came = "---\ntags: [bank]\n---\none\ncall\n"
            for text in ["---\ntags: [bank]\n---\none\n", came] {
                try laptop.write("Day.md", text)
                #expect(await desk.has("Day.md", text))
                #expect(await desk.eventually { (try? await desk.sync.isSettled()) == true })
            }
            try desk.write("Day.md", "one\nevening\n")
            #expect(await laptop.has("Day.md", "one\nevening\n"))
            let task = try await task(of: laptop)
            #expect(
                try await laptop.eventually {
                    try await laptop.sync.history(of: task).map(\.field).sorted() == ["notes", "tags"]
                })
            let history = try await laptop.sync.history(of: task)
            #expect(history.allSatisfy { $0.isOwnChange && !$0.isOpen })
            #expect(history.contains { $0.displaced == .string("one\ncall\n") })
            let undone = try await desk.sync.undo(task, isTrial: false)
            #expect(undone.count == 1)
            #expect(await laptop.has("Day.md", came))
        }
    }

    @Test func `what another machine changed is undone, but not what was changed since`() async throws {
        try await withMachines { laptop, desk in
            try laptop.write("List.md", "---\npriority: low\n---\na\nb\nc\n")
            #expect(await desk.has("List.md", "---\npriority: low\n---\na\nb\nc\n"))
            try desk.write("List.md", "---\npriority: high\n---\na\nb\nC\n")
            #expect(await laptop.has("List.md", "---\npriority: high\n---\na\nb\nC\n"))
            try laptop.write("List.md", "---\npriority: medium\n---\nA\nb\nC\n")
            #expect(await desk.has("List.md", "---\npriority: medium\n---\nA\nb\nC\n"))
            let undone = try await laptop.sync.undo(task(of: laptop), isTrial: false)
            let change = try #require(undone.first)
            #expect(change.cameFromElsewhere && change.leftAlone.map(\.description) == ["priority"])
            #expect(await desk.has("List.md", "---\npriority: medium\n---\nA\nb\nc\n"))
        }
    }
}
