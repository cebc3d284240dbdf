import CGRPC
import Glibc
import Synchronization

/// The process-wide state of the gRPC C core.
enum Core {
    /// Starts the core once. It is never shut down: it holds a few idle threads, and its own shutdown at exit races with
    /// calls that still end.
    static func start() { _ = started }

    private static let started: Void = {
        if getenv("GRPC_VERBOSITY") == nil && getenv("GRPC_TRACE") == nil {
            gpr_set_log_function(keepLastError)
        }
        grpc_init()
    }()

    /// Runs something that the core answers only with a log line and returns its result with that line, which is the
    /// one place where the core says why a port could not be bound.
    static func loggingErrors<Result>(_ body: () -> Result) -> (result: Result, errors: String) {
        let thread = pthread_self()
        errors.withLock { $0[thread] = "" }
        let result = body()
        return (result, errors.withLock { $0.removeValue(forKey: thread) } ?? "")
    }

    /// The lines logged so far by each thread that is inside `loggingErrors`.
    private static let errors = Mutex<[pthread_t: String]>([:])

    /// Without this the core would write to the standard error of programs that have a log of their own.
    private static let keepLastError: gpr_log_func = { arguments in
        guard let arguments, arguments.pointee.severity == GPR_LOG_SEVERITY_ERROR, let text = arguments.pointee.message
        else { return }
        let line = String(cString: text)
        errors.withLock { $0[pthread_self()]?.append(line + "\n") }
    }
}
