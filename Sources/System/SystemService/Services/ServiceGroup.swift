package import SystemIO

/// Runs services side by side and stops them in reverse order: on SIGTERM or SIGINT, when one fails, or when the task
/// that runs the group is cancelled.
package struct ServiceGroup: Sendable {
    /// One service and how it ends.
    package struct Member: Sendable {
        package var name: String
        package var service: any Service
        /// How long it may take to end after it was asked to; then its task is cancelled. Zero cancels at once, for a
        /// service that does not heed `GracefulStop`.
        package var stopLimit: Duration
        /// Whether it may return by itself while the others go on; otherwise that is an error of the group.
        package var mayFinish: Bool
        /// What a stop that takes too long still waits for; for the log.
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

    /// In the order of their start.
    package var members: [Member]
    package var logger: Logger
    package var supervisor: Supervisor
    /// How long a cancelled service may take before `onStuck` is told.
    package var cancelLimit: Duration
    /// Called with the name of a service that ignores its cancellation. The group cannot return while it runs, so a
    /// program would exit here.
    package var onStuck: @Sendable (String) -> Void
    /// Called on SIGHUP, between `reloading` and `ready` for the supervisor. An error is logged and changes nothing.
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

    /// Runs until all services have ended. A stop that was asked for returns; the failure of a service is thrown as
    /// `ServiceGroupError` once the others have stopped.
    ///
    /// - Parameter signals: where signals come from; nil for a group that is stopped by cancellation only.
    package func run(signals: SignalEvents?) async throws {
        var run = ServiceGroupRun(self)
        try await run.run(signals: signals)
    }
}
