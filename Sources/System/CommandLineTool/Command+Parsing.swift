/// The result of parsing a command line.
package enum Invocation: Sendable {
    case run(Command, ParsedArguments)
    /// `--help` anywhere, or `help COMMAND`. The text should be printed on standard output.
    case help(String)
    /// `--version`.
    case version
}

extension Command {
    /// Parses the words after the program's name.
    ///
    /// Options may appear anywhere, also as `--name=value` and as bundled short flags (`-qv`). The
    /// options of parent commands may follow a subcommand. `--` ends the options. A single `-` is
    /// an argument.
    ///
    /// - Parameter helpWidth: The columns that a line of a help text may have.
    package func parse(_ words: [String], helpWidth: Int = 80) throws(UsageError) -> Invocation {
        var state = ParsingState(program: self, helpWidth: helpWidth)
        var words = words[...]
        var onlyArguments = false
        while let word = words.popFirst() {
            if onlyArguments || !word.hasPrefix("-") || word == "-" {
                try state.take(argument: word, isLiteral: onlyArguments)
            } else if word == "--" {
                onlyArguments = true
            } else if word == "--help" || word == "-h" {
                return .help(helpText(for: state.commands, width: helpWidth))
            } else if word == "--version", state.commands.count == 1 {
                return .version
            } else if word.hasPrefix("--") {
                try state.take(longOption: word.dropFirst(2), from: &words)
            } else if state.isArgument(dashed: word) {
                try state.take(argument: word, isLiteral: true)
            } else {
                try state.take(shortOptions: word.dropFirst(), from: &words)
            }
        }
        return try state.finish()
    }

    func subcommand(_ name: String) -> Command? {
        subcommands.first { $0.name == name || $0.synonyms.contains(name) }
    }
}

/// The commands and values found so far.
private struct ParsingState {
    /// The commands from the program to the innermost subcommand.
    var commands: [Command]
    var values: [String: [String]] = [:]
    var words: [String] = []

    private let helpWidth: Int

    init(program: Command, helpWidth: Int) {
        commands = [program]
        self.helpWidth = helpWidth
    }

    private var path: [String] { commands.dropFirst().map(\.name) }
    private var current: Command { commands[commands.count - 1] }
    private var options: [Option] { commands.flatMap(\.options) + (fallback?.options ?? []) }
    private var fallback: Command? { current.defaultSubcommand.flatMap { current.subcommand($0) } }

    mutating func take(argument word: String, isLiteral: Bool) throws(UsageError) {
        if !isLiteral, words.isEmpty, !current.subcommands.isEmpty {
            if word == "help", commands.count == 1, current.subcommand("help") == nil {
                commands.append(Command("help", summary: "", arguments: [Argument("COMMAND", .any, summary: "")]))
                return
            }
            if let command = current.subcommand(word) {
                commands.append(command)
                return
            }
            if fallback == nil || fallback?.arguments.isEmpty == true {
                throw UsageError(
                    "There is no command '\(word)'"
                        + (nearest(to: word, in: current.subcommands.map(\.name)).map { "; did you mean '\($0)'?" }
                            ?? "."),
                    path: path)
            }
        }
        words.append(word)
    }

    mutating func take(longOption text: Substring, from rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let option = options.first(where: { $0.name == name }) else {
            let suggestion = nearest(to: name, in: options.map(\.name) + ["help"]).map { "; did you mean '--\($0)'?" }
            throw UsageError("There is no option '--\(name)'" + (suggestion ?? "."), path: path)
        }
        try take(option, value: parts.count == 2 ? String(parts[1]) : nil, from: &rest)
    }

    /// Whether a word that starts with a dash is an argument of a command that accepts such words,
    /// rather than options.
    func isArgument(dashed word: String) -> Bool {
        guard !words.isEmpty, current.arguments.last?.takesDashes == true else { return false }
        for letter in word.dropFirst() {
            guard let option = options.first(where: { $0.short == letter }) else { return true }
            if option.value != nil { return false }
        }
        return false
    }

    mutating func take(shortOptions letters: Substring, from rest: inout ArraySlice<String>) throws(UsageError) {
        var letters = letters
        while let letter = letters.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else {
                throw UsageError("There is no option '-\(letter)'.", path: path)
            }
            guard option.value != nil, !letters.isEmpty else {
                try take(option, value: nil, from: &rest)
                continue
            }
            try take(option, value: String(letters), from: &rest)
            return
        }
    }

    private mutating func take(_ option: Option, value: String?, from rest: inout ArraySlice<String>) throws(UsageError)
    {
        guard let valueName = option.value else {
            guard value == nil else { throw UsageError("--\(option.name) takes no value.", path: path) }
            values[option.name] = []
            return
        }
        guard let value = value ?? rest.popFirst() else {
            throw UsageError("--\(option.name) needs a value: --\(option.name) \(valueName).", path: path)
        }
        if case .words(let allowed) = option.completion, !allowed.contains(value) {
            throw UsageError(
                "--\(option.name) is one of \(allowed.joined(separator: ", ")), not '\(value)'.", path: path)
        }
        guard option.isRepeatable || values[option.name] == nil else {
            throw UsageError("--\(option.name) was given twice.", path: path)
        }
        values[option.name, default: []].append(value)
    }

    mutating func finish() throws(UsageError) -> Invocation {
        if let fallback, current.action == nil { commands.append(fallback) }
        if current.name == "help", current.action == nil { return .help(try help()) }
        guard current.action != nil else {
            guard words.isEmpty else { throw UsageError("There is no command '\(words[0])'.", path: path) }
            throw UsageError("A command is missing.", path: path)
        }
        let positionals = try matchWords()
        return .run(current, ParsedArguments(path: path, values: values, positionals: positionals))
    }

    private func help() throws(UsageError) -> String {
        var chain = [commands[0]]
        for word in words {
            guard let next = chain[chain.count - 1].subcommand(word) else {
                throw UsageError("There is no command '\(word)'.", path: [])
            }
            chain.append(next)
        }
        return commands[0].helpText(for: chain, width: helpWidth)
    }

    private func matchWords() throws(UsageError) -> [String: [String]] {
        var positionals: [String: [String]] = [:]
        var rest = words[...]
        for argument in current.arguments {
            switch argument.count {
            case .one, .some:
                guard !rest.isEmpty else { throw UsageError("\(argument.name) is missing.", path: path) }
                positionals[argument.name] = argument.count == .one ? [rest.removeFirst()] : Array(rest)
            case .optional:
                positionals[argument.name] = rest.popFirst().map { [$0] } ?? []
            case .any:
                positionals[argument.name] = Array(rest)
            }
            if argument.count == .some || argument.count == .any { rest = [] }
        }
        if let extra = rest.first { throw UsageError("'\(extra)' is one argument too many.", path: path) }
        return positionals
    }
}
