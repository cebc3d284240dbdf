import DocumentModel
import Glibc
import Testing

@testable import TaskModel

@Suite struct VocabularyTests {
    private let standard = TaskVocabulary.standard

    private func file(_ head: String) throws -> TaskFile {
        try TaskFile(parsing: Array("---\n\(head)\n---\nNotes.\n".utf8), named: "Task.md")
    }

    /// The front matter after a change, as a machine writes it that has read the task from its document.
    private func edit(_ head: String, _ change: (inout TaskItem) -> Void) throws -> String {
        let file = try file(head)
        var item = TaskItem(fields: file.item.documentFields)
        change(&item)
        let text = String(decoding: try file.updated(to: item).bytes, as: UTF8.self)
        return text.replacing("---\n", with: "").replacing("\nNotes.\n", with: "").replacing("Notes.\n", with: "")
    }

    @Test(arguments: [
        ("status: done", true), ("status: Done", true), ("status: \"done\" # yes", true), ("Status: DONE", true),
        ("status: cancelled", true), ("status: completed", true), ("status: In Progress", false),
        ("status: in_progress", false), ("status: todo", false), ("status: NEEDS-ACTION", false),
        ("status: marinating", false),
        ("status: [done]", false), ("completedDate: 2025-12-28", true),
        ("status: open\ncompletedDate: 2025-12-28", false),
        ("completed: 2025-12-28", true), ("completed: perhaps", false), ("Completed: true", true),
        ("status: open\ncompleted: true", true), ("status: done\ncompleted: false", true), ("due: 2026-11-30", false),
        ("recurrence: FREQ=DAILY\nscheduled: 2026-11-30\ncompletedDate: 2025-12-28", false),
    ])
    func `whether a task is completed`(head: String, isCompleted: Bool) throws {
        let item = try file(head).item
        #expect(item.isCompleted(in: standard) == isCompleted)
        #expect(TaskItem(fields: item.documentFields).isCompleted(in: standard) == isCompleted)
    }

    @Test(arguments: [
        ("status: open", "status: done"), ("status: todo # later", "status: done # later"),
        ("status: 'Todo'", "status: 'Done'"),
        ("status: \"in-progress\"", "status: \"done\""), ("Status: PENDING", "Status: COMPLETED"),
        ("status: needs-action", "status: completed"), ("status: incomplete", "status: complete"),
        ("status: marinating", "status: marinating\ncompleted: true"),
        ("due: 2026-11-30", "due: 2026-11-30\ncompleted: true"),
        ("status: done", "status: done"), ("status: cancelled", "status: cancelled"),
    ])
    func `completing writes the word of the file`(head: String, expected: String) throws {
        #expect(try edit(head) { $0.setCompleted(true, in: standard) } == expected)
    }

    @Test(arguments: [
        ("status: done", "status: open"), ("status: Completed", "status: Pending"),
        ("status: canceled", "status: open"),
        ("status: done\ncompletedDate: 2025-12-28", "status: open"),
        ("completedDate: 2025-12-28\ndue: 2026-11-30", "due: 2026-11-30"),
        ("status: done\ncompleted: true", "status: open"), ("status: open\ncompleted: true", "status: open"),
        ("completed: 2025-12-28\ndue: 2026-11-30", "due: 2026-11-30"), ("status: open", "status: open"),
        ("status: done\ncompletedDate: yesterday", "status: open\ncompletedDate: yesterday"),
    ])
    func `reopening writes the word of the file`(head: String, expected: String) throws {
        #expect(try edit(head) { $0.setCompleted(false, in: standard) } == expected)
    }

    @Test(arguments: [
        ("priority: urgent", Priority.high), ("priority: Critical", .high), ("priority: normal", .medium),
        ("Priority: LOW", .low), ("priority: none", nil), ("priority: 9", nil),
        ("priority: low\nPriority: urgent", .low),
    ])
    func `priorities`(head: String, priority: Priority?) throws {
        let item = try file(head).item
        #expect(item.priority(in: standard) == priority)
        #expect(TaskItem(fields: item.documentFields).priority(in: standard) == priority)
    }

    @Test func `a priority is changed in its place, and stays if it means the same`() throws {
        #expect(try edit("priority: urgent # !") { $0.setPriority(.high, in: standard) } == "priority: urgent # !")
        #expect(try edit("priority: urgent # !") { $0.setPriority(.low, in: standard) } == "priority: low # !")
        #expect(try edit("Priority: urgent") { $0.setPriority(.low, in: standard) } == "Priority: low")
        #expect(try edit("Priority: urgent\nstatus: open") { $0.setPriority(nil, in: standard) } == "status: open")
        #expect(try edit("priority: urgent\nstatus: open") { $0.setPriority(nil, in: standard) } == "status: open")
    }

    @Test func `keys in another case`() throws {
        let item = try file("Due: 2026-11-30\nTags: [\"#home\", garden]").item
        #expect(item.due == nil && item.tags.isEmpty)
        #expect(item.anyDue?.text == "2026-11-30" && item.anyTags == ["home", "garden"])
        #expect(item.nearKeys(in: standard).isEmpty && item.misunderstoodKeys(in: standard).isEmpty)
        #expect(try edit("Due: 2026-11-30") { $0.setDue(Due(parsing: "2026-12-01")) } == "Due: 2026-12-01")
        #expect(try edit("Due: 2026-11-30\nx: 1") { $0.setDue(nil) } == "x: 1")
        #expect(try file("Tags: home garden").item.anyTags == ["home", "garden"])
        #expect(try file("tags: ['#', '##']").item.anyTags == ["#"])
        #expect(
            try edit("Tags:\n  - home\n  - garden") { $0.changeTags(adding: ["new"], removing: ["home"]) }
                == "Tags:\n  - garden\n  - new")
        // The known key decides, and the other one is mentioned.
        let both = try file("due: 2026-11-30\nDue: 2027-01-01").item
        #expect(both.anyDue?.text == "2026-11-30" && both.nearKeys(in: standard).map(\.key) == ["Due"])
        #expect(try file("Due: soon").item.nearKeys(in: standard).map(\.key) == ["Due"])
    }

    @Test func `tags with a number sign, and several in one text`() throws {
        let item = try file("tags: ['#home', a b]").item
        #expect(item.anyTags == ["home", "a b"])
        #expect(
            try edit("tags: ['#home', x]") { $0.changeTags(adding: ["home"], removing: []) } == "tags: ['#home', x]")
        #expect(try edit("tags: ['#home', x]") { $0.changeTags(adding: [], removing: ["home"]) } == "tags: [x]")
        var several = try file("tags: a b c").item
        several.changeTags(adding: [], removing: ["b"])
        #expect(several.tags == ["a", "c"])
    }

    @Test func `a date in another case moves with its recurrence`() throws {
        let head = try edit("Due: 2026-11-30\nrecurrence: DTSTART:20261130;FREQ=WEEKLY") {
            if let day = $0.occurrence { $0.settleOccurrence(as: .done, on: day) }
        }
        #expect(head.hasPrefix("Due: 2026-12-07\n") && !head.contains("\ndue:"))
    }

    @Test func `rows of the user come first, and are written as they are given`() throws {
        let own = TaskVocabulary(
            statuses: [.init(open: ["Offen", "in Arbeit"], done: ["Erledigt", "done"], cancelled: ["verworfen"])],
            priorities: [.init(.high, ["dringend", "normal"])])
        #expect(try file("status: in arbeit").item.status(in: own) == .open)
        #expect(try file("status: verworfen").item.isCompleted(in: own))
        #expect(try !file("status: verworfen").item.isCompleted(in: standard))
        #expect(try edit("status: offen") { $0.setCompleted(true, in: own) } == "status: Erledigt")
        #expect(try edit("status: done") { $0.setCompleted(false, in: own) } == "status: Offen")
        #expect(try file("priority: normal").item.priority(in: own) == .high)
        #expect(try file("priority: dringend").item.misunderstoodKeys(in: own).isEmpty)
        #expect(try file("priority: dringend").item.misunderstoodKeys(in: standard) == ["priority"])
    }

    @Test func `a completed task reminds of nothing, and a date in another case does`() throws {
        #expect(TaskReminders(try file("due: 2026-11-30T17:00\nstatus: open").item) != nil)
        #expect(TaskReminders(try file("due: 2026-11-30T17:00\nstatus: done").item) == nil)
        #expect(TaskReminders(try file("Due: 2026-11-30T17:00").item)?.moments.count == 1)
    }

    @Test func `every word of the documentation's table has its meaning, and every word is in the table`() throws {
        let words = TaskVocabulary.standard
        for row in words.statuses {
            for word in row.open { #expect(words.status(word) == .open) }
            for word in row.done { #expect(words.status(word) == .done) }
            for word in row.cancelled { #expect(words.status(word) == .cancelled) }
        }
        let path = #filePath.replacing(
            "Tests/TaskModelTests/VocabularyTests.swift", with: "Sources/Documentation/vocabulary.md")
        let document = try #require(fopen(path, "r"))
        defer { fclose(document) }
        var bytes = [UInt8](repeating: 0, count: 100_000)
        let count = fread(&bytes, 1, bytes.count, document)
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        for row in words.statuses {
            let line = "| \(Self.list(row.open)) | \(Self.list(row.done)) | \(Self.list(row.cancelled)) |"
            #expect(text.contains(line), "\(line)")
        }
        for row in words.priorities {
            let line = "| \(row.priority?.word ?? "none") | \(Self.list(row.words)) |"
            #expect(text.contains(line), "\(line)")
        }
    }

    private static func list(_ words: [String]) -> String { words.map { "`\($0)`" }.joined(separator: " ") }
}
