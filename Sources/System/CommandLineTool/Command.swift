/// One command of a program, or the program itself. Parsing, help, manual pages and shell
/// completions are all derived from this declaration.
package struct Command: Sendable {
    /// The word that the user types; for the program, its name.
    package var name: String
    /// Other words that mean the command. They are accepted, and neither shown nor completed.
    package var synonyms: [String] = []
    /// One line without a period, for lists of commands.
    package var summary: String
    /// Paragraphs separated by empty lines. Lines that begin with four spaces are examples and are
    /// kept as they are.
    package var discussion: String
    /// The arguments in the order in which they are typed.
    package var arguments: [Argument]
    package var options: [Option]
    package var subcommands: [Command]
    /// The subcommand that runs if none is named. Its arguments and options are accepted in this
    /// command's place.
    package var defaultSubcommand: String?
    /// The heading under which the parent's help lists the command.
    package var group: String
    /// The function that runs the command. A command with subcommands and no action only groups
    /// them.
    package var action: (@Sendable (ParsedArguments) async throws -> ExitStatus)?

    package init(
        _ name: String, summary: String, discussion: String = "", group: String = "", arguments: [Argument] = [],
        options: [Option] = [], subcommands: [Command] = [], defaultSubcommand: String? = nil,
        action: (@Sendable (ParsedArguments) async throws -> ExitStatus)? = nil
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.arguments = arguments
        self.options = options
        self.subcommands = subcommands
        self.defaultSubcommand = defaultSubcommand
        self.group = group
        self.action = action
    }
}

/// A positional argument.
package struct Argument: Sendable {
    package enum Count: Sendable {
        case one
        case optional
        /// One or more. Only for the last argument.
        case some
        /// Any number, including none. Only for the last argument.
        case any
    }

    /// The name in capitals, as shown in the usage line.
    package var name: String
    package var count: Count
    package var summary: String
    package var completion: Completion
    /// Whether a word that starts with one dash is accepted too, unless all its letters are short
    /// options.
    package var takesDashes: Bool

    package init(
        _ name: String, _ count: Count = .one, summary: String, completion: Completion = .none,
        takesDashes: Bool = false
    ) {
        self.name = name
        self.count = count
        self.summary = summary
        self.completion = completion
        self.takesDashes = takesDashes
    }
}

/// A named option, `--name` or `--name VALUE`.
package struct Option: Sendable {
    /// The name without the dashes.
    package var name: String
    package var short: Character?
    /// The value's name in capitals; nil for a flag.
    package var value: String?
    package var isRepeatable: Bool
    package var summary: String
    package var completion: Completion

    /// Creates a flag.
    package init(_ name: String, short: Character? = nil, summary: String) {
        self.init(name, short: short, valueName: nil, isRepeatable: false, summary: summary, completion: .none)
    }

    /// Creates an option with a value.
    package init(
        _ name: String, short: Character? = nil, value: String, isRepeatable: Bool = false, summary: String,
        completion: Completion = .none
    ) {
        self.init(
            name, short: short, valueName: value, isRepeatable: isRepeatable, summary: summary, completion: completion)
    }

    private init(
        _ name: String, short: Character?, valueName: String?, isRepeatable: Bool, summary: String,
        completion: Completion
    ) {
        self.name = name
        self.short = short
        value = valueName
        self.isRepeatable = isRepeatable
        self.summary = summary
        self.completion = completion
    }
}

/// The source of a shell's candidates for a value.
package enum Completion: Sendable, Hashable {
    case none
    case files
    case directories
    case words([String])
    /// The output of `PROGRAM completion --candidates KIND`, which prints one candidate a line:
    /// `value<TAB>description`.
    case program(String)
    /// The same for values that depend on the argument before, whose word is passed as
    /// `--of=WORD`.
    case programOfPrevious(String)
}

/// The exit status of a program.
package struct ExitStatus: Sendable, Hashable, Error {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    package static let success = ExitStatus(0)
    package static let failure = ExitStatus(1)
    package static let usage = ExitStatus(2)
}
