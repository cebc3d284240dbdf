import DocumentModel
import Testing

@testable import TaskModel

@Suite("Reminders of tasks")
struct ReminderTests {
    private func item(_ head: String) throws -> TaskItem {
        try TaskFile(parsing: Array("---\n\(head)\n---\n".utf8), named: "Call Anna.md").item
    }

    private func time(_ text: String) throws -> Int64 { try #require(Timestamp(rfc3339: text)).seconds }

    @Test(
        "Offsets of ISO 8601 are read and written",
        arguments: [
            ("-PT15M", -900, "-PT15M"), ("PT1H", 3600, "PT1H"), ("-P1D", -86_400, "-P1D"), ("-P2W", -1_209_600, "-P2W"),
            ("P1DT2H3M4S", 93_784, "P1DT2H3M4S"), ("-PT90M", -5400, "-PT1H30M"), ("PT0S", 0, "PT0M"),
            ("+pt5m", 300, "PT5M"),
            ("P7D", 604_800, "P1W"),
        ] as [(String, Int64, String)])
    func offsets(_ text: String, _ seconds: Int64, _ written: String) {
        #expect(ReminderOffset.seconds(text) == seconds)
        #expect(ReminderOffset.text(seconds) == written)
        #expect(ReminderOffset.seconds(written) == seconds)
    }

    @Test(
        "Texts that are not offsets are refused",
        arguments: [
            "", "P", "PT", "-P", "15M", "P1M", "P1Y", "PT1H1H", "P1H", "PT1D", "PT1.5H", "PT9999999H", "PTT1H", "P-1D",
            "PT١H",
        ])
    func notOffsets(_ text: String) { #expect(ReminderOffset.seconds(text) == nil) }

    @Test("A vault of TaskNotes: relative to due and scheduled, absolute, and its own quotes")
    func tasknotes() throws {
        let task = try item(
            """
            scheduled: 2026-11-29T08:00
            due: 2026-11-30T17:00+01:00
            reminders:
              - id: "rem_1"
                type: relative
                relatedTo: due
                offset: "-PT15M"
                description: "Leave now"
              - id: rem_2
                type: relative
                relatedTo: scheduled
                offset: -P1D
              - {id: rem_3, type: absolute, absoluteTime: "2026-11-30T09:30:00"}
            """)
        let reminders = try #require(TaskReminders(task))
        #expect(
            reminders.moments == [
                .init(reminder: "rem_1", time: .instant(try time("2026-11-30T15:45:00Z")), note: "Leave now"),
                .init(reminder: "rem_2", time: .wall(try time("2026-11-28T08:00:00Z"))),
                .init(reminder: "rem_3", time: .wall(try time("2026-11-30T09:30:00Z"))),
            ])
    }

    @Test("A timed due date reminds at its time, a day does not, and a list of its own replaces that")
    func defaults() throws {
        let timed = try #require(TaskReminders(try item("due: 2026-11-30T17:00")))
        #expect(timed.moments == [.init(reminder: "due", time: .wall(try time("2026-11-30T17:00:00Z")))])
        #expect(TaskReminders(try item("due: 2026-11-30")) == nil)
        #expect(TaskReminders(try item("due: 2026-11-30T17:00\nreminders: []")) == nil)
        #expect(TaskReminders(try item("due: 2026-11-30T17:00\ncompleted: true")) == nil)
        let day = try #require(
            TaskReminders(try item("due: 2026-11-30\nreminders:\n  - offset: -P1D\n    relatedTo: due")))
        #expect(day.moments.map(\.time) == [.wall(try time("2026-11-29T09:00:00Z"))])
    }

    @Test("A day reminds at the time that the machine's setting says, unless the task has reminders")
    func dayReminders() throws {
        var reading = TaskReading()
        reading.dayReminder = 8 * 3600
        let day = try #require(TaskReminders(try item("due: 2026-11-30\ntzid: Asia/Tokyo"), in: reading))
        #expect(day.moments == [.init(reminder: "due", time: .wall(try time("2026-11-30T08:00:00Z")))])
        #expect(day.zone == "Asia/Tokyo")
        #expect(TaskReminders(try item("due: 2026-11-30\nreminders: []"), in: reading) == nil)
        #expect(TaskReminders(try item("tags: [a]"), in: reading) == nil)
        let timed = try #require(TaskReminders(try item("due: 2026-11-30T17:00"), in: reading))
        #expect(timed.moments.map(\.time) == [.wall(try time("2026-11-30T17:00:00Z"))])
    }

    @Test("Elements that are not understood are ignored, and stay in the file")
    func kept() throws {
        let head =
            "due: 2026-11-30T17:00\nreminders:\n  - id: a\n    offset: soon\n  - 5\n  - absoluteTime: 2026-11-30 09:00"
        let task = try item(head)
        #expect(task.reminders?.map(\.id) == ["at-2026-11-30 09:00"])
        let file = try TaskFile(parsing: Array("---\n\(head)\n---\n".utf8), named: "x.md")
        #expect(try file.updated(to: task).bytes == file.bytes)
    }

    @Test("Reminders are set, keep the form that they have, and are removed")
    func sets() throws {
        var task = try item(
            "due: 2026-11-30T17:00\nreminders:\n  - {id: rem_1, relatedTo: due, offset: -PT15M, type: relative}")
        task.setReminders([
            Reminder(.relative(.due, seconds: -900)),
            Reminder(.absolute(try #require(Due(parsing: "2026-11-30T09:00")))),
        ])
        #expect(task.reminders?.map(\.id) == ["rem_1", "at-2026-11-30T09:00"])
        let file = try TaskFile.make(for: task, named: "Call Anna.md", writesTitle: false)
        let text = String(decoding: file.bytes, as: UTF8.self)
        #expect(
            text.contains("  - absoluteTime: 2026-11-30T09:00\n    id: at-2026-11-30T09:00\n    type: absolute\n"),
            "\(text)")
        task.setReminders([])
        #expect(TaskReminders(task) == nil)
        task.setReminders(nil)
        #expect(task.fields["reminders"] == nil && TaskReminders(task) != nil)
    }

    @Test("A snooze is part of the document, and ends when the dates change or an occurrence is completed")
    func snoozes() throws {
        var task = try item("due: 2026-11-30T17:00\nrecurrence: FREQ=DAILY")
        let until = try #require(Timestamp(rfc3339: "2026-11-30T18:00:00Z"))
        task.snooze(until: until, for: UserID("me"))
        let read = TaskItem(fields: task.documentFields)
        #expect(read == task && read.snoozes["me"]?.until == until)
        #expect(TaskReminders(read)?.snoozes == ["me": until.seconds])
        var done = read
        done.settleOccurrence(as: .done, on: try #require(CivilDate("2026-11-30")))
        #expect(TaskReminders(done)?.snoozes == [:])
        let changes = TaskDiff(from: try item("due: 2026-11-30T17:00\nrecurrence: FREQ=DAILY"), to: task).changes
        #expect(changes.map(\.path) == [FieldPath(key: "snoozes").appending("me")])
        var awake = read
        awake.snooze(until: nil, for: UserID("me"))
        #expect(awake.snoozes.isEmpty)
    }
}

@Suite("Merging reminders")
struct ReminderMergeTests {
    private func fields(_ reminders: [Value]?) -> [String: Value] {
        reminders.map { ["fields": .map(["reminders": .array($0)])] } ?? [:]
    }

    private func reminder(_ id: String, _ offset: String = "-PT5M") -> Value {
        .map(["id": .string(id), "type": .string("relative"), "relatedTo": .string("due"), "offset": .string(offset)])
    }

    private func merged(_ base: [Value]?, _ mine: [Value], _ theirs: [Value]) -> (value: Value, losesTheirs: Bool)? {
        ReminderMerge.merged(base: fields(base), mine: fields(mine), theirs: fields(theirs))
    }

    @Test("Added, changed and removed elements of both sides meet")
    func meets() throws {
        let (a, b, c, d) = (reminder("a"), reminder("b"), reminder("c"), reminder("d"))
        let added = try #require(merged([a], [a, b], [a, c]))
        #expect(added.value == .array([a, c, b]) && !added.losesTheirs)
        let removed = try #require(merged([a, b, c], [b, c, d], [a, b]))
        #expect(removed.value == .array([b, d]) && !removed.losesTheirs)
        let first = try #require(merged(nil, [a], [b]))
        #expect(first.value == .array([b, a]))
        let changed = try #require(merged([a, b], [reminder("a", "-PT1H"), b], [a, reminder("b", "-PT2H")]))
        #expect(changed.value == .array([reminder("a", "-PT1H"), reminder("b", "-PT2H")]) && !changed.losesTheirs)
        let kept = try #require(merged([a, b], [b], [reminder("a", "-PT1H"), b, c]))
        #expect(kept.value == .array([reminder("a", "-PT1H"), b, c]) && !kept.losesTheirs)
    }

    @Test("Of one element that both changed mine is kept, and the other one is reported")
    func contested() throws {
        let result = try #require(merged([reminder("a")], [reminder("a", "-PT1H")], [reminder("a", "-PT2H")]))
        #expect(result.value == .array([reminder("a", "-PT1H")]) && result.losesTheirs)
    }

    @Test("A list of one side, equal changes, and lists without identifiers are left to the merge of fields")
    func others() {
        let a = reminder("a")
        #expect(merged([a], [a], []) == nil)
        #expect(merged([a], [], []) == nil)
        #expect(merged([a], [a, a], []) == nil)
        #expect(merged([a], [.string("x")], []) == nil)
    }
}
