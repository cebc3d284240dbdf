package import SystemIO

/// Runs services side by side and stops them in reverse order: on SIGTERM or SIGINT, when one
/// fails, or when the task that runs the group is cancelled.
package struct ServiceGroup: Sendable {
    /// A service, and the rules for its end.
    package struct Member: Sendable {
        package var name: String
        package var service: any Service
        /// The time that the service may take to end after it was asked to; then its task is
        /// cancelled. Zero cancels it at once, for a service that ignores `GracefulStop`.
        package var stopLimit: Duration
        /// Whether the service may return while the others continue. If not, returning is an error
        /// of the group.
        package var mayFinish: Bool
        /// Describes the operations that a slow stop is waiting for, for the log.
        package var waitsFor: @Sendable () -> String?

        package init(
            _ name: String, _ service: any Service, stopLimit: Duration = .seconds(5), mayFinish: Bool = false,
            waitsFor: @escaping @Sendable () -> String? = { nil }
        ) {
            self.name = name
            self.service = service
            self.stopLimit = stopLimit
            self.mayFinish = mayFinish
            self.waitsFor = waitsFor
        }
    }

    /// The services in the order of their start.
    package var members: [Member]
    package var logger: Logger
    package var supervisor: Supervisor
    /// The time that a cancelled service may take before `onStuck` is called.
    package var cancelLimit: Duration
    /// Called with the name of a service that ignores its cancellation. The group cannot return
    /// while that service runs, so a program should exit here.
    package var onStuck: @Sendable (String) -> Void
    /// Called on SIGHUP; the supervisor is notified before and after it. An error is logged and
    /// changes nothing.
    package var onReload: @Sendable () async throws -> Void

    package init(
        _ members: [Member], logger: Logger = .silent, supervisor: Supervisor = Supervisor(),
        cancelLimit: Duration = .seconds(2), onStuck: @escaping @Sendable (String) -> Void = { _ in },
        onReload: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.members = members
        self.logger = logger
        self.supervisor = supervisor
        self.cancelLimit = cancelLimit
        self.onStuck = onStuck
        self.onReload = onReload
    }

    /// Runs until all services have ended.
    ///
    /// Returns after a requested stop. If a service fails, throws `ServiceGroupError` once the
    /// others have stopped.
    ///
    /// - Parameter signals: the source of signals; nil for a group that is stopped by cancellation
    ///   only.
    package func run(signals: SignalEvents?) async throws {
        var run = ServiceGroupRun(self)
        try await run.run(signals: signals)
    }
}
