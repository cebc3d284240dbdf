import CivilTime
import Control
import Testing

@testable import FerryCLI

@Suite struct ExchangeTests {
    @Test func `a line of todo txt has title, priority, tags, dates and due date`() throws {
        let record = try #require(
            TodoLine.record("x 2026-11-20 (A) 2026-11-01 Call Anna +family @phone due:2026-12-01 now"))
        let (task, changes) = (record.change, record.changes)
        #expect(task.title == "Call Anna now" && task.isCompleted == true && task.priority == .high)
        #expect(task.addTags == ["family", "@phone"] && task.due == "2026-12-01")
        #expect(task.texts == ["completedDate": "2026-11-20", "createdDate": "2026-11-01"] && changes.isEmpty)
        #expect(
            TodoLine.record("(B) x")?.change.priority == .medium && TodoLine.record("(C) x")?.change.priority == .low)
        #expect(TodoLine.record("x done pri:C")?.change.priority == .low)
        let later = try #require(TodoLine.record("(D) 2026-10-01 Fourth @home +home"))
        #expect(
            later.change.priority == .low && later.change.texts == ["todoPriority": "D", "createdDate": "2026-10-01"])
        #expect(later.change.addTags == ["@home", "home"] && later.changes.count == 1)
    }

    @Test func `no word of todo txt is lost`() throws {
        #expect(TodoLine.record("   ") == nil && TodoLine.record("x")?.change.title == "x")
        let tags = try #require(TodoLine.record("(A) +only @tags"))
        #expect(tags.change.title == "+only @tags" && tags.change.addTags == ["only", "@tags"])
        #expect(TodoLine.record("2026-11-01")?.change.title == "2026-11-01")
        for text in [
            "xylophone (A) https://a.b 2026-1-1 due: + @", "(a) (AB) lower", "due:soon t:2026-13-24 rec:1x",
            "due:2026-02-30",
            "a\u{2028}b\u{85}c\u{A0}d",
        ] { #expect(TodoLine.record(text)?.change.title == text) }
        let twice = try #require(TodoLine.record("Two due:2026-01-01 due:2026-02-02"))
        #expect(
            twice.change.due == "2026-01-01" && twice.change.title == "Two due:2026-02-02" && twice.changes.count == 1)
    }

    @Test func `only line feeds end records, and a byte order mark is not part of the text`() {
        func lines(_ text: String, _ all: Bool = false) -> [String] {
            SourceText.lines(SourceText.content(Array(text.utf8)), carriageReturnsEnd: all).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        #expect(lines("\u{FEFF}a\u{2028}b\r\n\u{85}c\rd\n") == ["a\u{2028}b", "\u{85}c\rd", ""])
        #expect(lines("a\rb\r\nc", true) == ["a", "b", "c"])
        #expect(
            SourceText.foreignEncoding([0xFF, 0xFE, 0x68, 0]) == "UTF-16" && SourceText.foreignEncoding([0x68]) == nil)
        #expect(SourceText.fingerprint([1]) != SourceText.fingerprint([2]))
    }

    private func record(_ line: String) throws -> ImportRecord { try TaskRecord.record(ArraySlice(line.utf8)) }

    @Test func `a record keeps its data, and reports the data that cannot be kept`() throws {
        let line =
            #"{"task":{"id":"A","title":"T","priority":"high","due":"2026-12-01","tags":["a"],"list":"L","path":"L/X.md"},"#
            + ##""notes":"n","fields":{"color":"#f00","n":3,"list":["a",1]},"head":"---\n---\n"}"##
        let found = try record(line)
        #expect(found.id == "A" && found.key == "record A" && found.changes.isEmpty)
        #expect(found.change.title == "T" && found.change.list == "L" && found.change.priority == .high)
        #expect(found.change.texts == ["color": "#f00"] && found.change.fields == ["n": "3", "list": #"["a",1]"#])
        #expect(found.change.head == "---\n---\n" && found.change.fileName == "X" && found.change.notes == "n")
        let odd = try record(
            #"{"title":"T","tags":["a",null,"",2],"priority":"urgent","completed":"perhaps","attachments":[{}],"who":1}"#
        )
        #expect(odd.change.tags == ["a", "2"] && odd.change.texts == ["priority": "urgent"] && odd.key.isEmpty)
        #expect(odd.changes.count == 6, "\(odd.changes)")
        let untyped = try record(#"{"title":"T","notes":1,"due":2,"fields":[1],"list":null}"#)
        #expect(untyped.changes.count == 3 && untyped.change.notes == nil, "\(untyped.changes)")
        for bad in ["nonsense", "[1]", "{}", #"{"title":" "}"#] {
            #expect(throws: RecordProblem.self) { try record(bad) }
        }
    }

    @Test func `titles, names, address and home are taken out, the longest first`() {
        var status = DaemonStatus(version: "1", state: .running, tasksDirectory: "/home/me/Tasks")
        status.account = AccountSummary(userID: "u", email: "me@example.org", server: "s")
        status.problems = [Problem(code: "symlink", subject: "Love letter.md", message: "is a link")]
        let tasks = [
            TaskSummary(id: "11112222x", title: "Buy milk", path: "Home/Buy milk.md"),
            TaskSummary(id: "33334444x", title: "Buy milk and bread", path: "Buy milk and bread.md"),
        ]
        let lists = [ListSummary(id: "list1", name: "Home", openCount: 0, taskCount: 0)]
        let redaction = Redaction(tasks: tasks, lists: lists, status: status, home: "/home/me")
        #expect(
            redaction.applied(to: "/home/me/Tasks/Home/Buy milk.md, Buy milk and bread in /home/me of me@example.org")
                == "<tasks>/<task 11112222>.md, <task 33334444> in ~ of <e-mail>")
        #expect(redaction.applied(to: "Love letter.md is a link") == "<file> is a link")
    }

    @Test func `a time of the daemon's is the same moment on the wall`() {
        for text in ["1970-01-02T00:00:01.5Z", "2026-11-21T20:31:05Z"] {
            #expect(UTCTime(rfc3339: MomentWords.text(text))?.seconds == UTCTime(rfc3339: text)?.seconds)
        }
        #expect(MomentWords.text(nil) == "not yet ordered")
        for odd in ["", "soon", "2026-13-01T00:00:00Z", "2026-11-21 20:31:05", "2026-11-21T20:31Z"] {
            #expect(MomentWords.text(odd) == odd)
        }
    }

    @Test func `numbers have the right noun`() {
        #expect("\(Count(1, "task"))" == "1 task" && "\(Count(0, "task"))" == "0 tasks")
        #expect("\(Count(2, "delete is", "deletes are"))" == "2 deletes are")
    }
}
