import CommandLineTool
import Glibc
import SystemIO

/// The output of a command: data on standard output, messages on standard error, with the color and
/// width that suit them.
struct Terminal: Sendable {
    /// Whether standard output is a terminal, so that tables are aligned and prompts are possible.
    let isInteractive: Bool
    let errorIsInteractive: Bool
    let usesColor: Bool
    /// Whether the cursor may be moved. Not on a terminal of the type `dumb`.
    private let movesCursor: Bool

    /// Examines standard output and error.
    ///
    /// - Parameter color: `auto`, `always` or `never`. With `auto`, NO_COLOR and TERM=dumb turn
    ///   color off.
    init(color: String) {
        isInteractive = StandardStream.output.isTerminal
        errorIsInteractive = StandardStream.error.isTerminal
        movesCursor = !["dumb", ""].contains(ProcessEnvironment["TERM"] ?? "")
        let isPlain = ProcessEnvironment["NO_COLOR"].map { !$0.isEmpty } ?? false || !movesCursor
        usesColor = color == "always" || (color != "never" && isInteractive && !isPlain)
    }

    /// The present columns of the terminal; nil when standard output is none.
    var width: Int? { isInteractive ? Self.size(STDOUT_FILENO)?.columns : nil }

    /// The format of tables on standard output.
    var format: Table.Format { Table.Format(width: width, usesControls: isInteractive && movesCursor) }

    /// Whether lines on standard error can be drawn again in their place.
    var redrawsErrors: Bool { errorIsInteractive && movesCursor }

    /// Whether lines on standard output can be drawn again in their place.
    var redraws: Bool { isInteractive && movesCursor }

    /// The present size of a descriptor's terminal; nil for none, and for one too small to be true.
    static func size(_ descriptor: Int32) -> TerminalSize? {
        TerminalSize(of: descriptor).flatMap { $0.columns > 20 ? $0 : nil }
    }

    /// The columns for help texts: those of the terminal, as far as lines stay readable.
    var helpWidth: Int { min(width ?? 80, 100) }

    /// Returns the lines of a text for people, broken between words to fit the terminal; lines after
    /// the first are indented. Elsewhere the text is one line.
    func folded(_ text: String, indent: Int = 0) -> [String] {
        guard let width else { return [text] }
        let lines = wrapped(text, width: max(20, width - indent)) { $0.columns }
        return lines.prefix(1) + lines.dropFirst().map { String(repeating: " ", count: indent) + $0 }
    }

    /// Returns one line for each label and its value, the values in a column of their own and folded
    /// to fit the terminal.
    func labeled(_ rows: [(label: String, value: String)]) -> [String] {
        let rows = rows.map { ($0.label.printable, shown($0.value)) }
        let column = (rows.map { $0.0.columns }.max() ?? 0) + 4
        return rows.flatMap { label, value in
            let padding = String(repeating: " ", count: column - 2 - label.columns)
            let lines = folded(value, indent: column)
            return ["  \(styled(label, .faint))\(padding)\(lines.first ?? "")"] + lines.dropFirst()
        }
    }

    /// Text that may come from another person, as it can be printed within a line.
    func shown(_ text: String) -> String { format.usesControls ? text.printable.isolated : text.printable }

    /// A line of data.
    func print(_ line: String) { Self.write(line + "\n", to: .output) }

    /// Prints many lines of data with few writes.
    func print(lines: some Sequence<String>) {
        var text = ""
        for line in lines {
            text += line
            text += "\n"
            guard text.utf8.count > 1 << 16 else { continue }
            Self.write(text, to: .output)
            text.removeAll(keepingCapacity: true)
        }
        Self.write(text, to: .output)
    }

    /// A line of chatter, warnings and errors; on a terminal broken between words, with its indent.
    func note(_ line: String) {
        guard errorIsInteractive, let width = Self.size(STDERR_FILENO)?.columns else { return noteUnbroken(line) }
        let indent = line.prefix { $0 == " " } + (line.hasPrefix("ferry: ") ? "  " : "")
        let lines = wrapped(line, width: width - indent.count) { $0.columns }
        noteUnbroken(lines.joined(separator: "\n" + indent))
    }

    /// A line on standard error as it is, for programs.
    func noteUnbroken(_ line: String) { Self.write(line + "\n", to: .error) }

    /// A line of chatter that is cut to fit a terminal.
    func noteCut(_ line: String) {
        let width = errorIsInteractive ? Self.size(STDERR_FILENO)?.columns : nil
        noteUnbroken(width.map { line.cut(to: $0) } ?? line)
    }

    /// Text without a line's end on standard error; for progress on a terminal.
    func progress(_ text: String) { Self.write(text, to: .error) }

    func styled(_ text: String, _ style: Style) -> String {
        usesColor && !text.isEmpty ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    enum Style: Int {
        case bold = 1
        case faint = 2
        case red = 31
        case green = 32
        case yellow = 33
    }

    /// Asks a question on the terminal; returns nil if there is no terminal.
    func confirm(_ question: String) -> Bool? {
        guard isInteractive, StandardStream.input.isTerminal else { return nil }
        progress("\(question) [y/N] ")
        return readLine().map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }

    /// Asks for a line on the terminal; returns nil if there is no terminal.
    func ask(_ question: String) -> String? {
        guard errorIsInteractive, StandardStream.input.isTerminal else { return nil }
        progress(question)
        return readLine() ?? ""
    }

    /// Reads a line from the terminal without showing it; returns nil if there is no terminal.
    func readSecret(_ prompt: String) -> String? {
        guard StandardStream.input.isTerminal else { return nil }
        var saved = termios()
        guard tcgetattr(STDIN_FILENO, &saved) == 0 else { return nil }
        var silent = saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved)
            note("")
        }
        progress(prompt)
        return readLine()
    }

    static func write(_ text: String, to stream: StandardStream) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0), to: stream) }
    }

    /// Writes all of the bytes; `StandardOutput` remembers a failure.
    static func write(_ bytes: UnsafeRawBufferPointer, to stream: StandardStream) {
        if let error = stream.write(bytes), stream == .output { StandardOutput.failed(error) }
    }
}
