import CivilTime
import Control
import JSON
import Recurrence
import Testing

@testable import FerryCLI

@Suite("Formats of other programs")
struct ImportFormatTests {
    private func taskwarrior(_ text: String) -> [FoundRecord] { TaskwarriorFile(Array(text.utf8)).records }

    private func imported(_ found: [FoundRecord], _ name: String) throws -> ImportRecord {
        try #require(found.first { $0.name == name }).record.get()
    }

    @Test("Attributes of Taskwarrior become fields, and none is lost")
    func taskwarriorRecord() throws {
        let found = taskwarrior(
            #"[{"id":1,"uuid":"u1","description":"Call","status":"pending","project":"Home.Kitchen","priority":"H","#
                + #""tags":["a","b"],"due":"20261201T163005Z","entry":"20261101T120000Z","recur":"2wks","urgency":3.1,"#
                + #""annotations":[{"entry":"x","description":"http://a"},{"description":"b"}],"estimate":4,"brand":"x","#
                + #""wait":"soon"}]"#)
        let record = try imported(found, "Call")
        #expect(
            record.key == "taskwarrior u1" && record.change.list == "Home/Kitchen" && record.change.priority == .high)
        #expect(record.change.tags == ["a", "b"] && record.change.notes == "http://a\nb\n")
        let due = try #require(record.change.due.flatMap { ExchangeDate($0) })
        #expect(due.basic == "20261201T163005Z")
        #expect(record.change.texts["recurrence"] == "FREQ=WEEKLY;INTERVAL=2" && record.change.texts["brand"] == "x")
        #expect(
            record.change.fields == ["estimate": "4"]
                && record.changes == ["wait 'soon' is not a time and is left out", "1 annotation has no time here"])
    }

    @Test("Attributes of Taskwarrior that are not of their kind are named")
    func taskwarriorKinds() throws {
        let found = taskwarrior(
            #"[{"uuid":"u","description":"Odd","status":"stuck","due":1566669533,"project":4,"tags":"a,b","#
                + #""annotations":[{"entry":"x"},"plain"]},"#
                + #"{"description":"Other","tags":4,"annotations":"text"}]"#)
        let odd = try imported(found, "Odd")
        #expect(odd.change.tags == ["a", "b"] && odd.change.notes == "plain\n")
        #expect(odd.change.texts == ["status": "stuck"])
        #expect(
            odd.changes == [
                "due is not text and is left out", "project is not text and is left out",
                "status 'stuck' is kept as a field", "1 annotation has no time here",
                "an annotation without text is left out",
            ])
        #expect(
            try imported(found, "Other").changes == [
                "tags is not an array and is left out", "an annotation without text is left out",
            ])
    }

    @Test("A recurring task of Taskwarrior is imported once, with the date of its first open occurrence")
    func taskwarriorRecurrence() throws {
        let lines = [
            #"{"uuid":"t","description":"Rent","status":"recurring","recur":"monthly","due":"20260101T120000Z"}"#,
            #"{"uuid":"c2","description":"Rent","status":"pending","parent":"t","due":"20261201T120000Z"}"#,
            #"{"uuid":"c1","description":"Rent","status":"waiting","parent":"t","due":"20261101T120000Z"}"#,
            #"{"uuid":"c0","description":"Rent","status":"completed","parent":"t","due":"20261001T120000Z","recur":"monthly"}"#,
            #"{"uuid":"d","description":"Gone","status":"deleted"}"#, "nonsense",
        ]
        let found = taskwarrior(lines.joined(separator: "\n"))
        let records = found.compactMap { try? $0.record.get() }
        #expect(records.count == 2 && found.count == 6)
        #expect(records[0].change.due.flatMap { ExchangeDate($0) }?.basic == "20261101T120000Z")
        #expect(records[0].change.texts["recurrence"] == "FREQ=MONTHLY")
        #expect(records[1].change.isCompleted == true && records[1].change.texts["recurrence"] == nil)
        #expect(records[1].changes.count == 1)
    }

    @Test("Dates keep their form, and midnight of Taskwarrior is a date")
    func dates() throws {
        for text in ["2026-12-01", "2026-12-01T17:00", "2026-12-01T17:00:05+01:30", "2026-12-01T17:00Z"] {
            #expect(ExchangeDate(text)?.text == text)
        }
        for text in ["", "soon", "2026-13-01", "2026-12-01T", "2026-12-01T25:00", "2026-12-01T17:00+1", "20261201"] {
            #expect(ExchangeDate(text) == nil)
        }
        let day = try #require(ExchangeDate("2026-07-01"))
        #expect(ExchangeDate(basic: day.basicUTC(), midnightIsDate: true) == day)
        #expect(ExchangeDate(basic: "20261201T170000")?.text == "2026-12-01T17:00")
        #expect(ExchangeDate(basic: "2026120") == nil && ExchangeDate(basic: "20261201T1700000") == nil)
    }

    @Test(
        "Words of recurrences become rules",
        arguments: [
            ("every day", "FREQ=DAILY"), ("every 2 weeks", "FREQ=WEEKLY;INTERVAL=2"),
            ("every week on Sunday", "FREQ=WEEKLY;BYDAY=SU"), ("every weekday", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
            ("every month on the last", "FREQ=MONTHLY;BYMONTHDAY=-1"),
            ("every month on the 15th", "FREQ=MONTHLY;BYMONTHDAY=15"),
            ("every Monday, Thursday", "FREQ=WEEKLY;BYDAY=MO,TH"),
        ])
    func recurrences(_ words: String, _ rule: String) {
        #expect(ExchangeRecurrence.obsidian(words)?.rule.description == rule)
        #expect(ExchangeRecurrence.obsidian(words + " when done")?.isFromCompletion == true)
    }

    @Test("Words that are no recurrence are none")
    func otherWords() {
        for words in [
            "", "every", "day", "every 0 days", "every blue moon", "every month on the 32nd", "every week on soon",
        ] {
            #expect(ExchangeRecurrence.obsidian(words) == nil, "\(words)")
        }
        #expect(ExchangeRecurrence.todo("0d") == nil && ExchangeRecurrence.todo("w") == nil)
        #expect(ExchangeRecurrence.taskwarrior("P3M")?.description == "FREQ=MONTHLY;INTERVAL=3")
        #expect(ExchangeRecurrence.taskwarrior("3q") == nil)
    }

    @Test("A line of Obsidian Tasks has dates, priority, recurrence and tags")
    func obsidian() throws {
        let record = try #require(
            try ObsidianLine.record(
                "  - [ ] Pay #home rent 🔁 every month when done ⏫ ➕ 2026-11-01 ⏳2026-11-28 📅 2026-12-01 #money"))
        #expect(record.change.title == "Pay rent" && record.change.addTags == ["home", "money"])
        #expect(record.change.due == "2026-12-01" && record.change.priority == .high && record.changes.isEmpty)
        #expect(
            record.change.texts == [
                "recurrence": "FREQ=MONTHLY", "recurrence_anchor": "completion", "createdDate": "2026-11-01",
                "scheduled": "2026-11-28",
            ])
        let done = try #require(try ObsidianLine.record("1. [x] Done 🔺 ✅ 2026-11-20"))
        #expect(
            done.change.isCompleted == true && done.change.texts["completedDate"] == "2026-11-20"
                && done.changes.count == 1)
        let odd = try #require(try ObsidianLine.record("* [/] Half 📅 soon"))
        #expect(odd.change.title == "Half 📅 soon" && odd.change.texts["status"] == "in-progress")
        let cancelled = try #require(try ObsidianLine.record("- [-] No 📅 2026-12-01 📅 2026-12-02 🔼 ⏫"))
        #expect(cancelled.change.texts["status"] == "cancelled" && cancelled.change.isCompleted == nil)
        // The plugin reads the last of two; the other one is not lost.
        #expect(cancelled.change.title == "No 📅 2026-12-01 📅 2026-12-02 🔼" && cancelled.change.priority == .high)
        let twice = try #require(try ObsidianLine.record("- [ ] Twice 📅 2026-12-01 📅 2026-12-02"))
        #expect(twice.change.title == "Twice 📅 2026-12-01" && twice.change.due == "2026-12-02")
        for line in ["# Heading", "- plain", "text - [ ] no", ""] { #expect(try ObsidianLine.record(line) == nil) }
        #expect(throws: RecordProblem.self) { try ObsidianLine.record("- [ ]   ") }
    }

    @Test("todo.txt has start dates and recurrences")
    func todo() throws {
        let record = try #require(TodoLine.record("Water t:2026-11-28 due:2026-12-01 rec:+2w"))
        #expect(record.change.title == "Water" && record.change.due == "2026-12-01")
        #expect(record.change.texts == ["scheduled": "2026-11-28", "recurrence": "FREQ=WEEKLY;INTERVAL=2"])
        let done = try #require(TodoLine.record("x 2026-11-20 Water rec:1w"))
        #expect(done.change.texts["recurrence"] == nil && done.changes.count == 1)
    }

    @Test("A table is read by its header, and other columns are fields")
    func csv() throws {
        let text =
            "Title;Due Date;Tags;Color;Priority;Notes\r\n\"Buy; milk\";2026-12-01;\"a, b\";#fff;urgent;\"one\r\n\"\"two\"\"\"\r\n;;;;;\r\n;2026-12-01;;;;\r\na;b;c;d;e;f;g\r\n"
        let found = CSVFile(text).records
        let record = try imported(found, "Buy; milk")
        #expect(record.change.due == "2026-12-01" && record.change.tags == ["a", "b"])
        #expect(record.change.texts == ["Color": "#fff", "priority": "urgent"] && record.changes.count == 1)
        #expect(record.change.notes == "one\r\n\"two\"")
        #expect(found.map(\.name) == ["Buy; milk", "row 4", "row 5"])
        #expect(CSVFile("a,b\n1,2\n").records.map(\.name) == ["the header"] && CSVFile("").records.isEmpty)
        let done = try imported(CSVFile("title,done,recurrence\nRent,x,FREQ=DAILY\n").records, "Rent")
        #expect(done.change.isCompleted == true && done.change.texts.isEmpty && done.changes.count == 1)
        let values = ["a,b", "\"", "c\nd", "", "plain"]
        #expect(CSVFile.rows("x,x,x,x,x\n" + CSVFile.line(values)).last == values)
    }

    @Test("No column of a table hides another, and a quote that does not end is named")
    func columns() throws {
        let found = CSVFile("Title,title,,,x,x\na,b,c,d,e,f\nlast,\"open\nnext,row\n").records
        let record = try imported(found, "a")
        #expect(record.change.texts == ["title 2": "b", "column": "c", "column 2": "d", "x": "e", "x 2": "f"])
        #expect(found.count == 2 && (try? found[1].record.get()) == nil)
        let cancelled = try imported(CSVFile("title,status\nNo,cancelled\n").records, "No")
        #expect(cancelled.change.texts == ["status": "cancelled"] && cancelled.change.isCompleted == nil)
    }

    @Test("Comments of Todoist belong to their tasks, sections are fields, and 1 is the highest priority")
    func todoist() throws {
        let rows = [
            "TYPE,CONTENT,DESCRIPTION,PRIORITY,INDENT,DATE,DATE_LANG,DEADLINE", "note,Alone,,,,,,",
            "section,Garden,,,,,,", "task,Dig,deep,1,1,2026-12-01,en,", "note,first,,,,,,",
            "note,\"second\nline\",,,,,,",
            ",,,,,,,", "task,Sow,,4,2,every day,en,2026-12-24", "project,Other,,,,,,", "task,a,b,c,d,e,f,g,h",
        ]
        let found = CSVFile(rows.joined(separator: "\n")).records
        let dig = try imported(found, "Dig")
        #expect(dig.change.priority == .high && dig.change.due == "2026-12-01" && dig.changes.isEmpty)
        #expect(dig.change.notes == "deep\nfirst\nsecond\nline")
        #expect(dig.change.texts == ["section": "Garden", "INDENT": "1", "DATE_LANG": "en"])
        let sow = try imported(found, "Sow")
        #expect(sow.change.priority == TaskSummary.Priority.none && sow.change.due == "2026-12-24")
        #expect(sow.change.texts["scheduled"] == "every day" && sow.change.notes == nil)
        #expect(found.filter { (try? $0.record.get()) == nil }.map(\.name) == ["row 2", "row 9", "row 10"])
    }

    @Test("A calendar's task loses nothing unseen")
    func calendarLosses() throws {
        let lines = [
            "BEGIN:VTODO", "UID:1", "SUMMARY:Tax", "SUMMARY:Tax again", "STATUS:CANCELLED", "CLASS:CONFIDENTIAL",
            "PERCENT-COMPLETE:40", "PRIORITY:soon", "COMMENT:one", "COMMENT:two", "CATEGORIES:a\\;b,c", "CATEGORIES:d",
            "ORGANIZER;CN=Jane:mailto:jane@example.org", "CREATED;TZID=Asia/Tokyo:20261101T100000",
            "DUE;TZID=Europe/Berlin:20261201T170000", "a line that is folded without a space", "END:VTODO",
            "BEGIN:VTODO", "UID:2", "SUMMARY:Cut", "DESCRIPTION:to be conti",
        ]
        let found = CalendarFile(lines.joined(separator: "\r\n")).records
        let record = try imported(found, "Tax")
        #expect(
            record.change.texts == [
                "status": "cancelled", "class": "CONFIDENTIAL", "percent-complete": "40", "priority": "soon",
                "comment": "one\ntwo", "organizer": "mailto:jane@example.org", "createdDate": "2026-11-01",
                "tzid": "Europe/Berlin",
            ])
        #expect(record.change.isCompleted == nil && record.change.tags == ["a;b", "c", "d"])
        #expect(
            record.changes == [
                "a second SUMMARY is left out", "PRIORITY 'soon' is none of 0 to 9; it is kept as a field",
                "the CN of ORGANIZER is left out", "1 line that is no property is left out",
            ])
        #expect(throws: RecordProblem.self) { try imported(found, "Cut") }
    }

    @Test("A calendar's tasks are read, and what has no place is named")
    func ics() throws {
        let text = [
            "BEGIN:VCALENDAR", "BEGIN:VTIMEZONE", "TZID:X", "BEGIN:STANDARD", "DTSTART:19700101T000000", "END:STANDARD",
            "END:VTIMEZONE", "BEGIN:VTODO", "UID:1", "SUMMARY:Buy\\, \\;milk\\n", "  now",
            "DUE;TZID=\"Europe/Berlin\":20261201T170000",
            "DESCRIPTION:a\\nb", "CATEGORIES:x,y\\,z", "PRIORITY:1", "RRULE:FREQ=WEEKLY", "X-ODD:1", "BEGIN:VALARM",
            "TRIGGER:-PT5M",
            "END:VALARM", "END:VTODO", "BEGIN:VEVENT", "SUMMARY:Party", "END:VEVENT", "BEGIN:VTODO", "UID:2",
            "END:VTODO", "END:VCALENDAR",
        ].joined(separator: "\r\n")
        let found = CalendarFile(text).records
        let record = try #require(found.first).record.get()
        #expect(record.change.title == "Buy, ;milk\n now" && record.key == "ics 1")
        #expect(
            record.change.due == "2026-12-01T17:00" && record.change.tags == ["x", "y,z"]
                && record.change.notes == "a\nb\n")
        #expect(record.change.texts == ["recurrence": "FREQ=WEEKLY", "tzid": "Europe/Berlin"])
        #expect(record.changes == ["X-ODD is left out", "its VALARM is left out"])
        let odd = "BEGIN:VTODO\r\nSUMMARY:a\r\nDUE;TZID=Custom/X:20261201T170000\r\nEND:VTODO\r\n"
        let unzoned = try #require(CalendarFile(odd).records.first).record.get()
        #expect(unzoned.changes == ["DUE is the time on the clock in Custom/X"] && unzoned.change.texts.isEmpty)
        #expect(found.count == 3 && found.dropFirst().allSatisfy { (try? $0.record.get()) == nil })
    }

    private var sample: TaskDetail {
        var task = TaskDetail(
            summary: TaskSummary(
                id: "abcdefghij0123456789", title: "Buy \"oat\" milk, now; \\o/", priority: .medium,
                due: "2026-12-01T17:00+01:00", tags: ["home", "@shop"], list: "Home/Kitchen"),
            notes: "one\nzwölf, " + String(repeating: "ä", count: 80) + "\n",
            fields: ["recurrence": "DTSTART:20261101;FREQ=WEEKLY", "scheduled": "2026-11-28", "color": "red"])
        task.createdTime = "2026-11-01T10:00:00.5Z"
        return task
    }

    @Test("An exported task is the same after an import, but for what is named")
    func roundTrips() throws {
        let task = sample
        var recurred = task
        recurred.head = "---\ncomplete_instances: [2026-11-28]\n---\n"
        let today = try #require(CalendarDay("2026-11-28"))
        #expect(CalendarFile.file([recurred], today: today).leftOut == [["field color", "its earlier occurrences"]])
        let (file, icsLeftOut) = CalendarFile.file([task], today: today)
        #expect(file.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 75 })
        let table = CSVFile.table([task])
        let object = TaskwarriorFile.object(task)
        let records = [
            try CalendarFile(file).records[0].record.get(),
            try CSVFile(table.map(\.text).joined(separator: "\n")).records[0].record.get(),
            try TaskwarriorFile(Array("[\(object.text)]".utf8)).records[0].record.get(),
        ]
        for record in records {
            #expect(record.change.title == task.summary.title && record.change.priority == .medium)
            #expect(record.change.tags == task.summary.tags && record.change.list == "Home/Kitchen")
            #expect(record.change.notes == task.notes && record.change.texts["scheduled"] == "2026-11-28")
            #expect(record.change.due.flatMap { ExchangeDate($0) }?.basicUTC() == "20261201T160000Z")
        }
        #expect(icsLeftOut == [["field color"]] && records[0].change.texts["recurrence"] == "FREQ=WEEKLY")
        #expect(table[1].leftOut.isEmpty && records[1].change.texts["color"] == "red")
        #expect(object.leftOut == ["recurrence every 1w"] && records[2].change.texts["color"] == "red")
        #expect(TaskwarriorFile.uuid(of: "a") != TaskwarriorFile.uuid(of: "b"))
        let line = TodoLine.line(task)
        let todo = try #require(TodoLine.record(line.text))
        #expect(
            line.text
                == "(B) 2026-11-01 Buy \"oat\" milk, now; \\o/ +home @shop due:2026-12-01T17:00 t:2026-11-28 rec:+1w")
        #expect(line.leftOut == ["list 'Home/Kitchen'", "notes", "field color"])
        #expect(
            todo.change.title == task.summary.title && todo.change.priority == .medium
                && todo.change.due == "2026-12-01T17:00")
    }

    @Test("A time in a zone is exported with it, and is the same after an import")
    func zones() throws {
        let today = try #require(CalendarDay("2026-11-28"))
        var task = sample
        (task.summary.due, task.fields["tzid"]) = ("2026-12-01T17:00", "America/New_York")
        let (file, leftOut) = CalendarFile.file([task, task], today: today)
        let lines = file.replacing("\r\n ", with: "").split(separator: "\r\n")
        #expect(leftOut[0] == ["field color"] && lines.count { $0 == "TZID:America/New_York" } == 1)
        #expect(lines.contains("DUE;TZID=America/New_York:20261201T170000"))
        let autumn: [Substring] = [
            "BEGIN:STANDARD", "DTSTART:20261101T020000", "TZOFFSETFROM:-0400", "TZOFFSETTO:-0500", "END:STANDARD",
        ]
        #expect(lines.contains(autumn))
        let record = try CalendarFile(file).records[0].record.get()
        #expect(record.change.due == "2026-12-01T17:00" && record.change.texts["tzid"] == "America/New_York")
        #expect(TaskwarriorFile.object(task).text.contains("\"due\":\"20261201T220000Z\""))
    }

    @Test func `a calendar is read where a value begins with a mark that combines with the sign before it`() throws {
        let text = "BEGIN:VTODO\r\nSUMMARY:\u{301}a\\n\u{301}b\r\n \u{301}c\r\nEND:VTODO\r\n"
        let record = try CalendarFile(text).records[0].record.get()
        #expect(record.change.title?.unicodeScalars.elementsEqual("\u{301}a\n\u{301}b\u{301}c".unicodeScalars) == true)
    }

    @Test func `a table keeps values that begin with a mark, and marks after quotes`() {
        let values = ["\u{301}a", "b\"\u{301}c", ",\u{301}", "\u{301}"]
        let read = CSVFile.rows("x,x,x,x\r\n" + CSVFile.line(values) + "\r\n").last
        #expect(read?.map { Array($0.unicodeScalars) } == values.map { Array($0.unicodeScalars) })
    }
}
