import Glibc

/// What Ctrl-C says before the program ends with 130: what goes on without it. And what must not
/// stay when the program is ended.
enum Interruption {
    /// Read by the signals' handler, so they are a string that is there from the start and one that is never freed.
    nonisolated(unsafe) private static var words: StaticString = ""
    nonisolated(unsafe) private static var file: UnsafeMutablePointer<CChar>?

    /// From now on Ctrl-C says this. Does nothing where the signal is ignored, as beneath nohup.
    static func says(_ words: StaticString) {
        Self.words = words
        handle(SIGINT, end)
    }

    /// From now on Ctrl-C ends the program without a word.
    static func saysNothing() {
        words = ""
        handle(SIGINT, SIG_DFL)
    }

    /// From now on Ctrl-C, SIGTERM and SIGHUP remove the file before they end the program. At most one file at a time.
    static func removes(_ path: String) {
        file = strdup(path)
        for number in [SIGINT, SIGTERM, SIGHUP] { handle(number, end) }
    }

    /// The file may stay, or is gone already.
    static func removesNothing() { file = nil }

    /// Only calls that a handler may make: signal-safety(7).
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
