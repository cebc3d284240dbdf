import Glibc

/// Runs a program's body with its arguments and exits with the status that it returns.
///
/// The standard descriptors are reserved first, on the only thread of the process: Swift's concurrency runtime opens
/// descriptors of its own, and one that gets the number of a closed standard output takes what is printed without an error.
/// Call it from a `main.swift` without a top-level `await`, which would start the runtime before.
package func runProgram(_ body: @escaping @Sendable ([String]) async -> Int32) -> Never {
    reserveStandardDescriptors()
    Task.detached { exit(await body(Array(CommandLine.arguments.dropFirst()))) }
    // Not `pause`: a process started by a thread that blocks signals inherits its mask, as from a worker thread of libdispatch.
    // At least this thread takes them.
    var none = sigset_t()
    sigemptyset(&none)
    while true { sigsuspend(&none) }
}

/// Keeps the numbers 0, 1 and 2 from being given to sockets and files: a closed standard descriptor becomes one that can be
/// neither read nor written.
private func reserveStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
        _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
}
