import Glibc

/// What Ctrl-C says before the program ends with 130: what goes on without it.
enum Interruption {
    /// Read by the signal's handler, so it is a string that is there from the start.
    nonisolated(unsafe) private static var words: StaticString = ""

    /// From now on Ctrl-C says this. Does nothing where the signal is ignored, as beneath nohup.
    static func says(_ words: StaticString) {
        Self.words = words
        handle { _ in
            // Only calls that a handler may make: signal-safety(7).
            _ = write(STDERR_FILENO, Interruption.words.utf8Start, Interruption.words.utf8CodeUnitCount)
            _exit(130)
        }
    }

    /// From now on Ctrl-C ends the program without a word.
    static func saysNothing() { handle(SIG_DFL) }

    private static func handle(_ handler: __sighandler_t?) {
        let old = signal(SIGINT, handler)
        if unsafeBitCast(old, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { signal(SIGINT, SIG_IGN) }
    }
}
