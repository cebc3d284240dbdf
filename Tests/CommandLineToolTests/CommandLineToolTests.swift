import CommandLineTool
import Testing

private let tool = Command(
    "tool", summary: "does things",
    options: [Option("verbose", short: "v", summary: "say more"), Option("socket", value: "PATH", summary: "where")],
    subcommands: [
        Command(
            "add", summary: "adds words", arguments: [Argument("WORD", .some, summary: "what")],
            options: [
                Option("list", short: "l", value: "NAME", summary: "where to"),
                Option("tag", value: "TAG", isRepeatable: true, summary: "a tag"),
                Option("color", value: "WHEN", summary: "colour", completion: .words(["auto", "never"])),
                Option("count", value: "N", summary: "how many"),
            ], action: { _ in .success }),
        Command(
            "get", summary: "gets one",
            arguments: [Argument("ID", completion: .program("tasks")), Argument("TO", .optional)],
            action: { _ in .success }),
        Command(
            "set", summary: "changes one",
            arguments: [Argument("ID"), Argument("CHANGE", .any, summary: "what", takesDashes: true)],
            options: [Option("list", short: "l", value: "NAME", summary: "where to")], action: { _ in .success }),
        Command(
            "transfers", summary: "moves things",
            subcommands: [
                Command(
                    "list", summary: "lists", options: [Option("json", summary: "as JSON")], action: { _ in .success }),
                Command("pause", summary: "pauses", arguments: [Argument("ID", .some)], action: { _ in .success }),
            ], defaultSubcommand: "list"),
    ])

extension Argument {
    fileprivate init(_ name: String, _ count: Count = .one, completion: Completion = .none) {
        self.init(name, count, summary: "", completion: completion)
    }
}

private func run(_ words: String...) throws -> ParsedArguments {
    guard case .run(_, let arguments) = try tool.parse(words) else { throw UsageError("not a run") }
    return arguments
}

private func complaint(_ words: String...) -> String {
    do {
        _ = try tool.parse(words)
        return "none"
    } catch {
        return error.message
    }
}

@Suite struct CommandLineToolTests {
    @Test func `words and options may mix`() throws {
        let arguments = try run("add", "a", "--list", "Work", "b", "-v", "--tag=x", "--tag", "y", "--", "-c", "-")
        #expect(arguments.path == ["add"])
        #expect(arguments.arguments("WORD") == ["a", "b", "-c", "-"])
        #expect(arguments.value("list") == "Work")
        #expect(arguments.values("tag") == ["x", "y"])
        #expect(arguments.has("verbose") && !arguments.has("socket"))
    }

    @Test func `short options bundle and carry values`() throws {
        #expect(try run("add", "-vlWork", "a").value("list") == "Work")
        #expect(try run("-v", "add", "-l", "Work", "a").has("verbose"))
    }

    @Test func `words with a dash are arguments where a command takes them`() throws {
        let arguments = try run("set", "1", "+new", "-old", "-v", "-very", "-lWork", "-v1")
        #expect(arguments.arguments("CHANGE") == ["+new", "-old", "-very", "-v1"])
        #expect(arguments.has("verbose") && arguments.value("list") == "Work")
        #expect(complaint("set", "-x", "1").contains("'-x'"))
        #expect(complaint("set", "1", "--old").contains("'--old'"))
        #expect(complaint("add", "1", "-old").contains("'-o'"))
    }

    @Test func `a group runs its default subcommand`() throws {
        #expect(try run("transfers").path == ["transfers", "list"])
        #expect(try run("transfers", "--json").has("json"))
        #expect(try run("transfers", "pause", "1", "2").arguments("ID") == ["1", "2"])
    }

    @Test func `optional arguments may be left out`() throws {
        #expect(try run("get", "1").argument("TO") == nil)
        #expect(try run("get", "1", "here").argument("TO") == "here")
    }

    @Test func `a usage error names the wrong word and what is allowed instead`() {
        #expect(complaint("ad") == "There is no command 'ad'; did you mean 'add'?")
        #expect(complaint("add", "x", "--lisst", "y") == "There is no option '--lisst'; did you mean '--list'?")
        #expect(complaint("add") == "WORD is missing.")
        #expect(complaint("get", "1", "2", "3") == "'3' is one argument too many.")
        #expect(complaint("add", "x", "--list") == "--list needs a value: --list NAME.")
        #expect(complaint("add", "x", "--list", "a", "--list", "b") == "--list was given twice.")
        #expect(complaint("add", "x", "--color", "blue") == "--color is one of auto, never, not 'blue'.")
        #expect(complaint("--verbose=1", "add", "x") == "--verbose takes no value.")
        #expect(complaint("transfers", "pausse") == "There is no command 'pausse'; did you mean 'pause'?")
        #expect(complaint() == "A command is missing.")
        #expect(throws: UsageError.self) { try run("add", "x", "--count", "0").integer("count", in: 1...9) }
    }

    @Test(arguments: [20, 40, 60, 80]) func `text is broken between words, and no word is lost`(width: Int) {
        let text =
            "Words make the title; https://example.org/a/very/long/address/that/is/not/cut may  stand between them."
        let lines = wrapped(text, width: width)
        #expect(lines.joined(separator: " ").split(separator: " ") == text.split(separator: " "))
        #expect(lines.allSatisfy { $0.count <= width || !$0.contains(" ") }, "\(lines)")
        #expect(wrapped("", width: width) == [""] && wrapped("  two  spaces", width: width) == ["  two  spaces"])
    }

    @Test(arguments: [60, 80, 100]) func `help fits the width`(width: Int) throws {
        for words in [["--help"], ["add", "--help"]] {
            guard case .help(let text) = try tool.parse(words, helpWidth: width) else { throw UsageError("no help") }
            for line in text.split(separator: "\n") where !line.hasPrefix("    ") {
                #expect(line.count <= width, "\(line)")
            }
        }
    }

    @Test func `a synonym is understood, and shown nowhere`() throws {
        var keep = Command("keep", summary: "keeps", action: { _ in .success })
        keep.synonyms = ["mine"]
        let tool = Command("tool", summary: "t", subcommands: [keep])
        guard case .run(let command, _) = try tool.parse(["mine"]) else { throw UsageError("not run") }
        #expect(command.name == "keep")
        #expect(!tool.helpText(for: [tool]).contains("mine"))
        #expect(Shell.allCases.allSatisfy { !tool.completionScript(for: $0).contains("mine") })
        #expect(!tool.manualPage(section: 1, version: "1", date: "d").contains("mine"))
    }

    @Test func `help shows every argument, option and command`() throws {
        for words in [["--help"], ["help"]] {
            guard case .help(let text) = try tool.parse(words) else { throw UsageError("no help") }
            for part in ["Usage: tool COMMAND", "add", "gets one", "-v, --verbose", "--socket PATH"] {
                #expect(text.contains(part), "\(part) in \(text)")
            }
        }
        guard case .help(let text) = try tool.parse(["help", "add"]) else { throw UsageError("no help") }
        #expect(text.contains("Usage: tool add WORD… [options]") && text.contains("-l, --list NAME"))
        guard case .version = try tool.parse(["--version"]) else { throw UsageError("no version") }
    }

    @Test func `the manual page escapes the special characters of roff`() {
        let page = tool.manualPage(
            section: 1, version: "1.0", date: "2026-01-01", extra: [("Files", ".hidden\n\n    a-b")])
        #expect(page.contains("\\&.hidden") && page.contains("a\\-b") && page.contains(".SS \"add WORD...\""))
    }

    @Test(arguments: Shell.allCases) func `completions name every command`(shell: Shell) {
        let script = tool.completionScript(for: shell)
        for word in ["add", "get", "transfers", "pause", "completion --candidates tasks"] {
            #expect(script.contains(word), "\(word) for \(shell)")
        }
        // compgen expands its argument, and candidates are untrusted text of other users.
        #expect(!script.contains("compgen"))
    }
}
