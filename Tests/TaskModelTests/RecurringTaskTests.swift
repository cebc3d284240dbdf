import CivilTime
import DocumentModel
import Testing

@testable import TaskModel

@Suite("Recurring tasks")
struct RecurringTaskTests {
    private func item(_ head: String, named name: String = "Water plants.md") throws -> TaskItem {
        try TaskFile(parsing: Array("---\n\(head)\n---\n".utf8), named: name).item
    }

    private func day(_ text: String) throws -> CivilDate { try #require(CivilDate(text)) }

    @Test("Completing an occurrence records it and moves the date to the next one")
    func completes() throws {
        var task = try item("recurrence: FREQ=DAILY;INTERVAL=3\ndue: 2026-11-28")
        task.settleOccurrence(as: .done, on: try day("2026-11-28"))
        #expect(task.due?.text == "2026-12-01")
        #expect(!task.completed)
        let file = try TaskFile.make(for: task, named: "Water plants.md", writesTitle: false)
        #expect(
            String(decoding: file.bytes, as: UTF8.self) == """
                ---
                due: 2026-12-01
                complete_instances: [2026-11-28]
                recurrence: DTSTART:20261128;FREQ=DAILY;INTERVAL=3
                ---

                """)
        #expect(try TaskFile(parsing: file.bytes, named: "Water plants.md").item.instances == task.instances)
    }

    @Test("The time of day and the offset of a date stay; a scheduled date takes the due date along")
    func moves() throws {
        var task = try item(
            "recurrence: DTSTART:20250804T090000Z;FREQ=WEEKLY\nscheduled: 2026-11-23T09:00\ndue: 2026-11-25T17:00+01:00"
        )
        task.settleOccurrence(as: .done, on: try day("2026-11-23"))
        #expect(task.fields["scheduled"] == .string("2026-11-30T09:00"))
        #expect(task.due?.text == "2026-12-02T17:00+01:00")
    }

    @Test("In a task with a zone the time on the clocks stays and the offset goes; UTC stays")
    func zones() throws {
        for (old, new) in [
            ("2026-10-24T09:00+02:00", "2026-10-31T09:00"), ("2026-10-24 09:00:30-05:00", "2026-10-31 09:00:30"),
            ("2026-10-24T09:00", "2026-10-31T09:00"), ("2026-10-24T07:00Z", "2026-10-31T07:00Z"),
            ("2026-10-24", "2026-10-31"), ("2026-10-24 09:00 +02:00", "2026-10-31 09:00"),
        ] {
            var task = try item("recurrence: FREQ=WEEKLY\ntzid: Europe/Berlin\ndue: \(old)")
            task.settleOccurrence(as: .done, on: try day("2026-10-24"))
            #expect(task.due?.text == new)
        }
    }

    @Test("A completion after the date also settles the days that have passed, unless each counts")
    func catchesUp() throws {
        var task = try item("recurrence: FREQ=DAILY\ndue: 2026-11-20")
        task.settleOccurrence(as: .done, on: try day("2026-11-28"))
        #expect(task.due?.text == "2026-11-29")
        #expect(task.instances == [try day("2026-11-20"): TaskInstance(.done, on: try day("2026-11-28"))])
        var each = try item("recurrence: FREQ=DAILY\ncatch-up: each\ndue: 2026-11-20")
        each.settleOccurrence(as: .done, on: try day("2026-11-28"))
        #expect(each.due?.text == "2026-11-21")
        #expect(each.instances == [try day("2026-11-20"): TaskInstance(.done)])
    }

    @Test("With completion as the anchor the day of the completion counts")
    func fromCompletion() throws {
        var task = try item("recurrence: FREQ=WEEKLY;INTERVAL=2\nrecurrence_anchor: completion\ndue: 2026-11-20")
        task.settleOccurrence(as: .done, on: try day("2026-11-28"))
        #expect(task.due?.text == "2026-12-12")
        task.settleOccurrence(as: .done, on: try day("2026-12-01"))
        #expect(task.due?.text == "2026-12-15")
        var month = try item("recurrence: FREQ=MONTHLY\nrecurrence_anchor: completion\ndue: 2027-01-31")
        month.settleOccurrence(as: .done, on: try day("2027-01-31"))
        #expect(month.due?.text == "2027-02-28")
    }

    @Test("Skipping an occurrence does not settle others")
    func skips() throws {
        var task = try item("recurrence: FREQ=WEEKLY;BYDAY=MO,TH\ndue: 2026-11-30")
        task.settleOccurrence(as: .skipped, on: try day("2026-11-28"))
        #expect(task.due?.text == "2026-12-03")
        #expect(task.instances == [try day("2026-11-30"): TaskInstance(.skipped)])
    }

    @Test("The last occurrence completes the task, and reopening takes it back")
    func ends() throws {
        var task = try item("recurrence: FREQ=DAILY;COUNT=2\ndue: 2026-11-28")
        task.settleOccurrence(as: .done, on: try day("2026-11-28"))
        #expect(task.due?.text == "2026-11-29" && !task.completed)
        task.settleOccurrence(as: .done, on: try day("2026-11-29"))
        #expect(task.completed)
        #expect(task.occurrence == nil)
        let over = task
        task.settleDates(on: try day("2026-12-24"))
        #expect(task == over)
        task.reopenLastOccurrence()
        #expect(!task.completed && task.due?.text == "2026-11-29" && task.instances.count == 1)
    }

    @Test("A completion by an editor is the one of the occurrence in its file")
    func completedByEditor() throws {
        var task = try item("recurrence: FREQ=DAILY\ndue: 2026-11-28\ncompleted: true")
        task.settleDates(on: try day("2026-11-28"))
        #expect(!task.completed && task.due?.text == "2026-11-29")
        #expect(task.instances.keys.map(\.description) == ["2026-11-28"])
        var again = task
        again.settleDates(on: try day("2026-12-31"))
        #expect(again == task)
    }

    /// Ferry has imported the completion and not yet written the file, for example because it is paused.
    @Test(
        "A date that is set by hand after a completion is no completed one",
        arguments: [
            "2026-12-24", "2026-11-22", "2026-11-14",
        ])
    func keepsADateAfterACompletion(date: String) throws {
        let rule = "recurrence: FREQ=WEEKLY;COUNT=4\ncompleted: true"
        let before = try item("\(rule)\ndue: 2026-11-15")
        var task = try item("\(rule)\ndue: \(date)")
        task.settleDates(on: try day("2026-11-15"), after: before)
        #expect(task.instances.mapValues(\.state) == [try day("2026-11-15"): .done])
        #expect(!task.completed)
        #expect(task.due?.text == (date < "2026-11-15" ? "2026-11-22" : date))
        #expect(task.fields["recurrence"] == .string("DTSTART:20261115;FREQ=WEEKLY;COUNT=4"))
    }

    @Test("A task without a date gets that of its start, and no other occurrence is completed")
    func getsItsFirstDate() throws {
        let rule = "recurrence: DTSTART:20261115;FREQ=DAILY;INTERVAL=3"
        for anchor in ["", "\nrecurrence_anchor: completion"] {
            var task = try item(rule + anchor)
            task.settleDates(on: try day("2026-11-28"))
            #expect(task.due?.text == "2026-11-15", "\(anchor)")
        }
        // The occurrence was completed elsewhere, and the date removed from a file in which it is marked as completed.
        var task = try item(
            "\(rule)\nrecurrence_anchor: completion\ncompleted: true\ncomplete_instances: [2026-11-15/2026-11-20]")
        task.settleDates(on: try day("2026-11-28"))
        #expect(!task.completed && task.due?.text == "2026-11-23" && task.instances.count == 1)
    }

    @Test("An instance that another app added moves the date")
    func completedByTaskNotes() throws {
        var task = try item("recurrence: FREQ=DAILY\nscheduled: 2026-11-28\ncomplete_instances:\n  - 2026-11-28")
        task.settleDates(on: try day("2026-11-28"))
        #expect(task.fields["scheduled"] == .string("2026-11-29"))
    }

    @Test("A file that Ferry has not seen before is not changed")
    func leavesVaultsAlone() throws {
        for head in [
            "recurrence: DTSTART:20250804T090000Z;FREQ=DAILY\nscheduled: 2026-11-28\ncomplete_instances: []",
            "recurrence: every other blue moon\ndue: 2026-11-28\ncompleted: true",
            "recurrence: FREQ=WEEKLY;BYDAY=MO\ndue: 2026-11-26",
        ] {
            var task = try item(head)
            let before = task
            task.settleDates(on: try day("2026-11-28"))
            #expect(task == before, "\(head)")
        }
    }

    @Test("Entries that are not dates stay as they are written")
    func keepsWhatIsNotUnderstood() throws {
        let task = try item("complete_instances: [soon]\nskipped_instances: 2026-11-28")
        #expect(task.instances.isEmpty)
        #expect(task.fields["complete_instances"] != nil && task.fields["skipped_instances"] != nil)
    }

    @Test("An added instance changes one line of a list in TaskNotes' form")
    func editsOneLine() throws {
        let text =
            "---\nrecurrence: DTSTART:20261101;FREQ=DAILY # often\nscheduled: 2026-11-28\n"
            + "complete_instances:\n  - 2026-11-26\n  - 2026-11-27\n---\n"
        let file = try TaskFile(parsing: Array(text.utf8), named: "a.md")
        var task = file.item
        task.settleOccurrence(as: .done, on: try day("2026-11-28"))
        let changed = String(decoding: try file.updated(to: task).bytes, as: UTF8.self)
        #expect(
            changed
                == text.replacing("scheduled: 2026-11-28", with: "scheduled: 2026-11-29")
                .replacing("  - 2026-11-27\n", with: "  - 2026-11-27\n  - 2026-11-28\n"))
    }

    @Test("Instances survive the way through a document")
    func documents() throws {
        var task = try item("recurrence: FREQ=DAILY\ndue: 2026-11-20")
        task.settleOccurrence(as: .done, on: try day("2026-11-28"))
        task.settleOccurrence(as: .skipped, on: try day("2026-11-28"))
        #expect(TaskItem(fields: task.documentFields) == task)
        let diff = TaskDiff(from: nil, to: task).changes.map(\.path.description)
        #expect(diff.contains("instances.`2026-11-20`") && diff.contains("instances.`2026-11-29`"))
    }
}
