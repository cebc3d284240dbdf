import CommandLineTool
import Glibc
import Synchronization

/// The standard output of this process. An incomplete write is an error of the command.
enum StandardOutput {
    /// The `errno` of the first write that failed.
    private static let failure = Mutex<Int32?>(nil)

    static func failed(_ number: Int32) { failure.withLock { if $0 == nil { $0 = number } } }

    /// Throws if a write has failed.
    ///
    /// - Throws: `CommandFailure`. Its message is empty if the reader has closed the pipe, which by
    ///   convention is not reported.
    static func check() throws {
        guard let number = failure.withLock({ $0 }) else { return }
        guard number != EPIPE else { throw CommandFailure("", status: .brokenPipe) }
        throw CommandFailure(
            "Standard output: \(String(cString: strerror(number))). The output is incomplete.", status: .failure)
    }
}

extension ExitStatus {
    /// The status that a shell reports for a program ended by SIGPIPE.
    static let brokenPipe = ExitStatus(141)
}
