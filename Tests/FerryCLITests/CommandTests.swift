import CivilTime
import CommandLineTool
import Control
import JSON
import Testing

@testable import FerryCLI

@Suite struct CommandTests {
    @Test func `every command says what it does, and the man page and completions have it`() {
        let page = FerryTool.command.manualPage(section: 1, version: "1", date: "d", extra: [])
        let script = FerryTool.command.completionScript(for: .bash)
        for command in FerryTool.command.subcommands {
            #expect(!command.summary.isEmpty && command.summary.first?.isUppercase == false, "\(command.name)")
            #expect(!command.group.isEmpty, "\(command.name)")
            #expect(page.contains(command.name.replacing("-", with: "\\-")), "\(command.name)")
            #expect(script.contains(command.name), "\(command.name)")
            #expect(command.action != nil || command.defaultSubcommand != nil, "\(command.name)")
        }
        let names = FerryTool.command.subcommands.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func `an error has its exit status`() {
        let codes: [(ControlError.Code, Int32)] = [
            (.invalidArgument, 2), (.notFound, 3), (.ambiguous, 3), (.notRunning, 4), (.offline, 5), (.timedOut, 5),
            (.conflict, 6), (.needsSignIn, 7), (.partlyDone, 8), (.internal, 1), (.noSpace, 1),
        ]
        for (code, status) in codes {
            #expect(ErrorReport(ControlError(code, "m"), program: "ferry").status.code == status, "\(code)")
        }
        #expect(ErrorReport(UsageError("m"), program: "ferry").status.code == 2)
        #expect(ErrorReport(CancellationError(), program: "ferry").status.code == 130)
    }

    @Test func `an error as JSON keeps its own code, its status and its causes`() throws {
        let error = ControlError(.offline, "m", hint: "h", isRetryable: true, causes: ["c"])
        let json = try #require(ErrorReport(error, program: "ferry").json["error"])
        #expect(json["code"] == "offline" && json["status"] == 5 && json["retryable"] == true)
        #expect(json["hint"] == "h" && json["causes"] == ["c"])
        #expect(ErrorReport(UsageError("m"), program: "ferry").json["error"]?["code"] == "usage")
    }

    @Test func `words of a change are taken apart`() throws {
        let due = DueWords(today: CalendarDay(clampingDaysSinceEpoch: 20_778))
        let words = try TaskWords(
            ["Buy", "milk", "+errands", "due:friday", "priority:high", "https://a.b", "\\+1", "list:inbox"], due: due)
        #expect(words.text == "Buy milk https://a.b +1")
        #expect(words.change.due == "2026-11-27" && words.change.priority == .high && words.change.list == "")
        #expect(throws: UsageError.self) { try TaskWords(["priority:urgent"], due: due) }
    }

    private let due = DueWords(today: CalendarDay(clampingDaysSinceEpoch: 20_778))

    @Test func `due dates in words`() {
        // Saturday, 21 November 2026.
        let cases = [
            "today": "2026-11-21", "fri": "2026-11-27", "+3d": "2026-11-24", "+2w": "2026-12-05", "+3m": "2027-02-21",
            "+1y": "2027-11-21", "next week": "2026-11-23", "next month": "2026-12-01", "eow": "2026-11-22",
            "eom": "2026-11-30", "eoy": "2026-12-31", "fri 17:00": "2026-11-27T17:00",
            "Tomorrow 9:30": "2026-11-22T09:30",
            "next week 08:00": "2026-11-23T08:00", "2026-11-30 17:00": "2026-11-30 17:00", "fri 25:00": "fri 25:00",
            "someday": "someday", "none": "",
        ]
        for (word, expected) in cases { #expect(due.resolve(word) == expected, "\(word)") }
        let end = DueWords(today: CalendarDay(clampingDaysSinceEpoch: 20_849))
        #expect(end.today.description == "2027-01-31" && end.resolve("+1m") == "2027-02-28")
    }

    @Test func `recurrences and the headings of an agenda`() throws {
        let words = try TaskWords(["Water", "plants", "every:3d"], due: due)
        #expect(words.text == "Water plants" && words.change.every == "3d" && !words.change.isFromCompletion)
        let changes = try TaskWords(changes: ["every!:2w"], due: due).change
        #expect(changes.every == "2w" && changes.isFromCompletion && changes.today == "2026-11-21")
        #expect(try TaskWords(changes: ["every:none"], due: due).change.every == "")
        #expect(throws: UsageError.self) { try TaskWords(["x", "every:1d", "every!:1d"], due: due) }
        #expect(try TaskChange(json: changes.json) == changes)
        let headings = ["2026-11-20", "2026-11-21T09:00", "2026-11-22", "2026-11-25", nil].map {
            AgendaHeading($0, today: due.today).text
        }
        #expect(headings == ["Overdue", "Today", "Tomorrow", "Wednesday, 2026-11-25", "Without a date"])
    }

    @Test func `adding loses no word`() throws {
        for words in [
            ["List:", "milk", "and", "eggs"], ["Due:", "x"], ["Tag:", "y"], ["title:"], ["list: Work"], ["x", "a=b"],
        ] {
            #expect(try TaskWords(words, due: due).text == words.joined(separator: " "))
        }
        let spaced = try TaskWords(["due:2027-03-02 10:00", "x", "tag:two words", "list:Inbox"], due: due)
        #expect(
            spaced.change.due == "2027-03-02 10:00" && spaced.change.addTags == ["two words"]
                && spaced.change.list == "")
        for words in [["title:Foo", "bar"], ["due:friday", "due:monday", "x"], ["list:a", "list:b", "x"]] {
            #expect(throws: UsageError.self) { try TaskWords(words, due: due) }
        }
    }

    @Test func `known fields may be changed with both marks, and other fields are text`() throws {
        func changes(_ words: String...) throws -> TaskChange { try TaskWords(changes: words, due: due).change }
        #expect(try changes("title:a=b").title == "a=b" && changes("title=a:b").title == "a:b")
        #expect(
            try changes("due=2026-01-01").due == "2026-01-01" && changes("due=").due == ""
                && changes("Due:friday").due == "2026-11-27")
        #expect(
            try changes("priority=high").priority == .high && changes("priority=").priority == TaskSummary.Priority.none
        )
        #expect(try changes("completed=true").isCompleted == true && changes("completed:no").isCompleted == false)
        #expect(try changes("tags=a, b").tags == ["a", "b"] && changes("tags=").tags == [])
        #expect(try changes("list=Work").list == "Work" && changes("+tag=x").addTags == ["tag=x"])
        let custom = try changes("color=#ff0000", "x=a # c", "url=http://a:b", "Due=kept", "gone=")
        #expect(custom.texts == ["color": "#ff0000", "x": "a # c", "url": "http://a:b", "Due": "kept", "gone": ""])
        #expect(try TaskWords(changes: ["foo", "a:b", "=x"], due: due).plain == ["foo", "a:b", "=x"])
        for words in [["completed=perhaps"], ["priority=9"], ["x=1", "x=2"], ["due=a", "due:b"]] {
            #expect(throws: UsageError.self) { try TaskWords(changes: words, due: due) }
        }
    }

    @Test func `a path is relative to the working directory`() {
        #expect(TaskArgument("plan.md").path(in: "/t/Work") == "/t/Work/plan.md")
        #expect(TaskArgument("../a/./b.md").path(in: "/t/Work") == "/t/a/b.md")
        #expect(
            TaskArgument("/x/../y.md").path(in: "/t") == "/y.md" && TaskArgument("../../../z").path(in: "/t") == "/z")
        #expect(!TaskArgument("milk").mayBePath && TaskArgument("AC/DC").mayBePath && !TaskArgument("AC/DC").isPath)
    }

    @Test func `with several operands, some failures give status 8, and all failures that of the first`() {
        let failed = ErrorReport(ControlError(.notFound, "m"), program: "ferry")
        #expect(Outcome(results: [1]).status.code == 0)
        #expect(Outcome(results: [1], failures: [("x", failed)]).status.code == 8)
        #expect(Outcome<Int>(failures: [("x", failed)]).status.code == 3)
    }

    @Test func `a value of several lines is one line in a table`() {
        #expect("a\nb\n".firstLine == "a …" && "a\n".firstLine == "a" && "".firstLine == "")
    }
}
