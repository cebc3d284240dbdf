import Glibc

/// The version of the package, which all of its programs share.
package let packageVersion = "0.2.0"

/// Runs a program's body with its arguments and exits with the status that it returns.
///
/// First reserves the standard descriptors, while the process has only one thread. Swift's
/// concurrency runtime opens descriptors of its own. If one of them gets the number of a closed
/// standard output, printed text is written to it without an error. Must be called from a
/// `main.swift` without a top-level `await`, which would start the runtime earlier.
package func runProgram(_ body: @escaping @Sendable ([String]) async -> Int32) -> Never {
    reserveStandardDescriptors()
    Task.detached { exit(await body(Array(CommandLine.arguments.dropFirst()))) }
    // Not `pause`: a process started by a thread that blocks signals inherits its mask, as from a
    // worker thread of libdispatch. At least this thread takes them.
    var none = sigset_t()
    sigemptyset(&none)
    while true { sigsuspend(&none) }
}

/// Opens each closed standard descriptor in a mode in which it can be neither read nor written as
/// usual, so that sockets and files never get the numbers 0, 1 and 2.
private func reserveStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
        _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
}
