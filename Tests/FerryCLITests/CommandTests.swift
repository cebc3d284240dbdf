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
        let due = DueWords(today: CivilDate(year: 2026, month: 11, day: 21))
        let words = try TaskWords(
            ["Buy", "milk", "+errands", "due:friday", "priority:high", "https://a.b", "\\+1", "list:inbox"], due: due)
        #expect(words.text == "Buy milk https://a.b +1")
        #expect(words.change.due == "2026-11-27" && words.change.priority == .high && words.change.list == "")
        #expect(throws: UsageError.self) { try TaskWords(["priority:urgent"], due: due) }
    }

    @Test(arguments: [
        ("plain – Ü 漢字 👍🏽", "plain – Ü 漢字 👍🏽"), ("👩\u{200D}👧 mother", "👩\u{200D}👧 mother"),
        ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("a\u{202E}b", "a\\u{202E}b"),
        ("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"),
        ("pay\u{200B}pal", "pay\\u{200B}pal"), ("pay\u{200D}pal", "pay\\u{200D}pal"), ("\u{FEFF}a", "\\u{FEFF}a"),
        ("a\u{1B}[2J", "a\\u{1B}[2J"), ("a\u{2028}b", "a\\u{2028}b"), ("a\u{E0041}", "a\\u{000E0041}"),
        ("a\u{AD}b", "a\\u{00AD}b"),
        ("\u{3164}", "\\u{3164}"),
    ]) func `text from elsewhere neither steers the terminal nor hides anything`(_ text: String, _ shown: String) {
        #expect(text.printable.unicodeScalars.elementsEqual(shown.unicodeScalars))
    }

    @Test func `a value of several lines is one line in a table`() {
        #expect("a\nb\n".firstLine == "a …" && "a\n".firstLine == "a" && "".firstLine == "")
    }
}
