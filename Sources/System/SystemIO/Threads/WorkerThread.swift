import CLinux
import Glibc

/// Threads outside Swift's pool, for work that blocks. They block all signals, so that these are
/// delivered to the thread that handles them.
package enum WorkerThread {
    /// Runs `body` on a new detached thread.
    ///
    /// - Parameter name: at most 15 bytes, shown by tools such as `ps`.
    package static func start(
        named name: String, stackSize: Int = 1 << 20, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let box = Unmanaged.passRetained(Body(name: name, run: body))
        let code = withSignalsBlocked {
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
            pthread_attr_setstacksize(&attributes, stackSize)
            var thread = pthread_t()
            return pthread_create(
                &thread, &attributes,
                { argument in
                    guard let argument else { return nil }
                    let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                    ferry_name_thread(body.name)
                    body.run()
                    return nil
                }, box.toOpaque())
        }
        guard code != 0 else { return }
        box.release()
        throw SystemError(errno: code, operation: "start the thread \(name)")
    }

    /// Calls `body` with all signals blocked. Threads that a C library creates inside `body`
    /// inherit the signal mask.
    package static func withSignalsBlocked<Result>(_ body: () -> Result) -> Result {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return body()
    }

    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }
}
