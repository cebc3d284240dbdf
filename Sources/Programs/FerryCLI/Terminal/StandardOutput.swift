import CommandLineTool
import Glibc
import Synchronization

/// Standard output of this process, of which an incomplete write is an error of the command.
enum StandardOutput {
    /// The `errno` of the first write that failed.
    private static let failure = Mutex<Int32?>(nil)

    static func failed(_ number: Int32) { failure.withLock { if $0 == nil { $0 = number } } }

    /// - Throws: `CommandFailure` if a write has failed. Its message is empty where the reader has gone away, which is told to
    ///   nobody by convention.
    static func check() throws {
        guard let number = failure.withLock({ $0 }) else { return }
        guard number != EPIPE else { throw CommandFailure("", status: .brokenPipe) }
        throw CommandFailure(
            "Standard output: \(String(cString: strerror(number))). What was printed is incomplete.", status: .failure)
    }
}

extension ExitStatus {
    /// What a shell says of a program that SIGPIPE has ended.
    static let brokenPipe = ExitStatus(141)
}
