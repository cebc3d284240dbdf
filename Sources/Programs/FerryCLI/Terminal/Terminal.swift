import Glibc
import SystemIO

/// Where a command writes: data on standard output, chatter on standard error; colour and width as
/// they should be there.
struct Terminal: Sendable {
    /// Standard output is a terminal: tables are for people, prompts are possible.
    let isInteractive: Bool
    let errorIsInteractive: Bool
    let usesColor: Bool
    /// Columns of the terminal; nil when it is none.
    let width: Int?

    /// - Parameter color: `auto`, `always` or `never`; with `auto` NO_COLOR and TERM=dumb turn it off.
    init(color: String) {
        isInteractive = isatty(STDOUT_FILENO) == 1
        errorIsInteractive = isatty(STDERR_FILENO) == 1
        let isDumb = ProcessEnvironment["NO_COLOR"].map { !$0.isEmpty } ?? false || ProcessEnvironment["TERM"] == "dumb"
        usesColor = color == "always" || (color != "never" && isInteractive && !isDumb)
        width = isInteractive ? terminalWidth(STDOUT_FILENO).flatMap { $0 > 20 ? $0 : nil } : nil
    }

    /// A line of data.
    func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// Many lines of data, in few writes.
    func print(lines: some Sequence<String>) {
        var text = ""
        for line in lines {
            text += line
            text += "\n"
            guard text.utf8.count > 1 << 16 else { continue }
            write(text, to: STDOUT_FILENO)
            text.removeAll(keepingCapacity: true)
        }
        write(text, to: STDOUT_FILENO)
    }

    /// A line of chatter, warnings and errors.
    func note(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Text without a line's end on standard error; for progress on a terminal.
    func progress(_ text: String) { write(text, to: STDERR_FILENO) }

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

    /// Asks a question on a terminal. nil: there is none to ask on.
    func confirm(_ question: String) -> Bool? {
        guard isInteractive, isatty(STDIN_FILENO) == 1 else { return nil }
        progress("\(question) [y/N] ")
        return readLine().map { ["y", "yes"].contains($0.lowercased()) } ?? false
    }

    /// Asks for a line on a terminal. nil: there is none to ask on.
    func ask(_ question: String) -> String? {
        guard errorIsInteractive, isatty(STDIN_FILENO) == 1 else { return nil }
        progress(question)
        return readLine() ?? ""
    }

    /// Reads a line from the terminal without showing it. nil: there is no terminal.
    func readSecret(_ prompt: String) -> String? {
        guard isatty(STDIN_FILENO) == 1 else { return nil }
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

    private func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    /// Writes all of the bytes; `StandardOutput` remembers a failure.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            let count = Glibc.write(descriptor, base, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if descriptor == STDOUT_FILENO { StandardOutput.failed(count < 0 ? errno : EIO) }
                return
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}
