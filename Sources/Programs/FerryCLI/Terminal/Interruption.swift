import Glibc

/// The message that Ctrl-C prints before the program exits with status 130, and the file to remove
/// when the program is interrupted.
enum Interruption {
    /// The message, read by the signal handler. `words` is a static string and `file` is never
    /// freed, so both can be read at any time.
    nonisolated(unsafe) private static var words: StaticString = ""
    nonisolated(unsafe) private static var file: UnsafeMutablePointer<CChar>?

    /// Makes Ctrl-C print a message. Does nothing if the signal is ignored, as under nohup.
    static func says(_ words: StaticString) {
        Self.words = words
        handle(SIGINT, end)
    }

    /// Makes Ctrl-C end the program without a message.
    static func saysNothing() {
        words = ""
        handle(SIGINT, SIG_DFL)
    }

    /// Makes Ctrl-C, SIGTERM and SIGHUP remove the file before they end the program. At most one
    /// file at a time.
    static func removes(_ path: String) {
        file = strdup(path)
        for number in [SIGINT, SIGTERM, SIGHUP] { handle(number, end) }
    }

    /// Stops removing the file, because it may stay or does not exist any more.
    static func removesNothing() { file = nil }

    /// Handles the signals, calling only functions that signal-safety(7) allows.
    private static let end: @convention(c) (Int32) -> Void = { number in
        if let file = Interruption.file { unlink(file) }
        if number == SIGINT {
            _ = write(STDERR_FILENO, Interruption.words.utf8Start, Interruption.words.utf8CodeUnitCount)
            _exit(130)
        }
        _exit(128 + number)
    }

    private static func handle(_ number: Int32, _ handler: __sighandler_t?) {
        let old = signal(number, handler)
        if unsafeBitCast(old, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { signal(number, SIG_IGN) }
    }
}
