import CGRPC
import Glibc

/// The process-wide state of the gRPC C core.
enum Core {
    /// Starts the core once. It is never shut down: it holds a few idle threads, and its own shutdown at exit races with
    /// calls that still end.
    static func start() { _ = started }

    private static let started: Void = {
        // It would write to the standard error of programs that have a log of their own.
        if getenv("GRPC_VERBOSITY") == nil && getenv("GRPC_TRACE") == nil { gpr_set_log_function { _ in } }
        grpc_init()
    }()
}
