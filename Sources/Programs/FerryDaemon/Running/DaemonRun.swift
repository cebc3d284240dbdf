import CommandLineTool
import Control
import Glibc
import HTTPClient
import SystemIO
import SystemService

/// One run of the daemon, from its configuration to its end.
struct DaemonRun {
    private let arguments: ParsedArguments
    private let configuration: DaemonConfiguration
    private let logger: Logger
    private let level: LevelSetting
    private let hub: EventHub
    private let recentLog: RecentLog

    /// Reads the configuration.
    ///
    /// - Throws: `DaemonError` with `.configuration`.
    init(_ arguments: ParsedArguments) throws {
        self.arguments = arguments
        configuration = try Self.configuration(arguments)
        let level = LevelSetting(configuration.logLevel)
        self.level = level
        let hub = EventHub()
        self.hub = hub
        let recentLog = RecentLog(hub: hub)
        self.recentLog = recentLog
        logger = Logger(label: "ferryd", level: .debug) { record in
            guard record.level >= level.value else { return }
            StandardErrorLog.shared.write(record)
            recentLog.add(record)
        }
    }

    /// The time limit for stopping: longer than the limits of the services below together, shorter
    /// than those of systemd and of the tests.
    private static let stopLimit = Duration.seconds(14)

    /// Returns the path of the control socket without reading the configuration file.
    static func socket(_ arguments: ParsedArguments) throws -> String {
        try reader(arguments, draft: .init(name: "", text: "")).socket()
    }

    static func configuration(_ arguments: ParsedArguments) throws -> DaemonConfiguration {
        try reader(arguments).configuration()
    }

    static func reader(
        _ arguments: ParsedArguments, draft: ConfigurationReader.Draft? = nil
    ) throws -> ConfigurationReader {
        let directory = getcwd(nil, 0)
        defer { free(directory) }
        return try ConfigurationReader(
            arguments, workingDirectory: directory.map { String(cString: $0) } ?? "/", draft: draft)
    }

    /// Runs until it is told to stop, or until the program is to start again.
    func run() async throws -> ExitStatus {
        ProcessMemory.limitArenas(to: 2)
        ProcessMemory.mapAllocations(from: 1 << 20)
        ProcessMemory.keepFree(upTo: 16 << 20)
        Signal.ignoreBrokenPipes()
        let signals = try SignalEvents([.terminate, .interrupt, .hangup])
        let supervisor = Supervisor()
        let state = try StateDirectory(path: configuration.state)
        try prepareTasksDirectory(state)
        let rootLock = RootLock(configuration.tasks)
        do { try rootLock.take() } catch { throw DaemonError(.failed, "\(error).") }
        var clients = HTTPClient.Configuration()
        clients.certificateAuthorities = configuration.authorities?.path
        let http = HTTPClient(clients)
        let account = try Account(state: state, http: http, logger: logger.labelled("account"))
        let hub = hub
        let engine = SyncEngine(
            configuration: configuration, state: state, rootLock: rootLock, account: account, http: http, hub: hub,
            logger: logger.labelled("sync"))
        let arguments = arguments
        let reminders = ReminderService(
            configuration: configuration, state: state, engine: engine, account: account, hub: hub,
            logger: logger.labelled("reminders"))
        let service = DaemonService(
            configuration: configuration, engine: engine, account: account, hub: hub, http: http, recentLog: recentLog,
            reminders: reminders,
            readSettings: { try Self.reader(arguments, draft: $0).entries() })
        // Start the engine before the socket, because the call that made systemd start this daemon
        // waits for its answer.
        await engine.start()
        let control = ControlServer(service, version: DaemonTool.version, userID: geteuid())
        let socket = try ControlSocket(
            path: configuration.socket, logger: logger.labelled("control"),
            respond: { await control.respond(to: $0, from: $1) }, onStop: { hub.close() })
        let restart = ProgramRestart()
        let activity = engine.activity
        try StopDeadline.arm(after: Self.stopLimit) { [logger] in
            logger.critical("the daemon does not stop and is ended", ["waits-for": activity.summary ?? "unknown"])
        }
        let group = ServiceGroup(
            [
                .init(
                    "sync", EngineService(engine: engine), stopLimit: .seconds(3), waitsFor: { activity.summary }),
                .init(
                    "events",
                    EventPublisher(
                        service: service, engine: engine, hub: hub, supervisor: supervisor,
                        logger: logger.labelled("sync")),
                    stopLimit: .seconds(1)),
                .init(
                    "heartbeat",
                    Heartbeat(
                        supervisor: supervisor, logger: logger,
                        turn: {
                            await engine.turn()
                            await restart.look(isIdle: { await engine.isIdle && !hub.hasListeners }, logger)
                        }, moment: { hub.moment },
                        onWake: { await engine.networkChanged() }), stopLimit: .seconds(1)),
                .init(
                    "network", NetworkWatch(logger: logger, onChange: { await engine.networkChanged() }),
                    stopLimit: .seconds(1)),
                .init(
                    "mounts",
                    MountWatch(
                        directory: configuration.tasks, logger: logger, onChange: { await engine.mountsChanged() }),
                    stopLimit: .seconds(1)),
                .init("reminders", reminders, stopLimit: .seconds(1)),
                .init("control", socket, stopLimit: .seconds(2)),
            ],
            logger: logger, supervisor: supervisor, cancelLimit: .seconds(1),
            // Everything that was acknowledged is on the disk, so it is safe to exit.
            onStuck: { _ in _exit(1) },
            onReload: { try await reload(engine) })
        Console().print("ready \(socket.path)")
        supervisor.ready()
        logger.notice(
            "ready",
            ["socket": socket.path, "tasks": configuration.tasks, "state": configuration.state])
        try await group.run(signals: signals)
        logger.notice("stopped")
        withExtendedLifetime(state) {}
        return restart.isDue ? ProgramRestart.perform() : .success
    }

    /// Creates the tasks directory for a new user. If the daemon has synced before, a missing
    /// directory is an error that must not be hidden.
    private func prepareTasksDirectory(_ state: StateDirectory) throws {
        do throws(SystemError) {
            guard try state.isNew, !FileSystem.exists(configuration.tasks) else { return }
            try FileSystem.makeDirectories(configuration.tasks, mode: 0o755)
        } catch {
            throw DaemonError(.failed, "The tasks directory cannot be created: \(error.message).", cause: error)
        }
    }

    /// Applies the settings that can change while the daemon runs, and logs those that cannot.
    private func reload(_ engine: SyncEngine) async throws {
        let new: DaemonConfiguration
        do { new = try Self.configuration(arguments) } catch {
            await engine.note(
                configuration: Problem(
                    code: "configuration", message: "\(error) The daemon goes on with the configuration from before.",
                    hint: "Mend the file, then: systemctl --user reload ferryd."))
            throw error
        }
        level.value = new.logLevel
        await engine.limit(up: new.uploadLimit, down: new.downloadLimit)
        let changed = new.names(needingRestartAfter: configuration)
        guard !changed.isEmpty else {
            await engine.note(configuration: nil)
            logger.notice("the configuration was read again")
            return
        }
        let names = changed.joined(separator: ", ")
        logger.warning("a restart is needed for changed settings", ["changed": names])
        await engine.note(
            configuration: Problem(
                code: "configuration", message: "A restart is needed for changed settings: \(names).",
                hint: "systemctl --user restart ferryd"))
    }
}
