import CMicroHTTPD
import Glibc

/// Threads of the room's own. They take no signals, so that those of the process reach whoever waits for them.
enum WorkerThread {
    /// Runs `body` on a new detached thread; false where the system gives none.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let box = Unmanaged.passRetained(Body(name: name, run: body))
        let code = withSignalsBlocked {
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
            pthread_attr_setstacksize(&attributes, 1 << 20)
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
        if code != 0 { box.release() }
        return code == 0
    }

    /// Threads made by a C library inside `body` inherit the mask.
    static func withSignalsBlocked<Result>(_ body: () -> Result) -> Result {
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
