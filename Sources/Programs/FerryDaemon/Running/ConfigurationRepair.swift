import CommandLineTool
import Control
import Glibc
import Synchronization
import SystemIO
import SystemService

/// A daemon whose configuration is invalid. It responds with the error until the file is corrected,
/// and then restarts.
final class ConfigurationRepair: Service {
    private struct State {
        var error: DaemonError
        var isMended = false
    }

    private let arguments: ParsedArguments
    private let state: Mutex<State>
    private let supervisor = Supervisor()
    private let logger = Logger(label: "ferryd")

    /// The time between two checks of the file.
    private static let interval = Duration.seconds(1)
    private static let hint =
        "Mend it; the daemon notices, and starts. 'ferry config check FILE' checks a file, ferryd.yaml(5) has the keys."

    init(_ arguments: ParsedArguments, _ error: DaemonError) {
        self.arguments = arguments
        state = Mutex(State(error: error))
    }

    /// Serves the socket until the configuration can be used, or until it is told to stop. Returns the exit status.
    func serve() async throws -> ExitStatus {
        Signal.ignoreBrokenPipes()
        let signals = try SignalEvents([.terminate, .interrupt, .hangup])
        let server = RefusingControlServer(
            version: DaemonTool.version, userID: geteuid(), status: { self.status },
            check: { text, name in
                try SettingSummary.all(
                    of: Result {
                        try DaemonRun.reader(self.arguments, draft: .init(name: name, text: text)).entries()
                    })
            })
        let socket = try ControlSocket(
            path: DaemonRun.socket(arguments), logger: logger, respond: { await server.respond(to: $0, from: $1) })
        let group = ServiceGroup(
            [.init("configuration", self, stopLimit: .zero), .init("control", socket, stopLimit: .seconds(1))],
            logger: logger, supervisor: supervisor, onReload: { self.look() })
        logger.error("\(status.reason ?? "")")
        Console().print("ready \(socket.path)")
        supervisor.ready(status: status.line)
        try await group.run(signals: signals)
        guard state.withLock({ $0.isMended }) else { return .success }
        logger.notice("the configuration is mended; starting")
        return ProgramRestart.perform()
    }

    /// Checks the file regularly, and stops the group once it is valid.
    func run() async throws {
        while true {
            try await Task.sleep(for: Self.interval)
            supervisor.alive()
            look()
        }
    }

    private func look() {
        do {
            _ = try DaemonRun.configuration(arguments)
            let isNews = state.withLock { state in
                defer { state.isMended = true }
                return !state.isMended
            }
            if isNews { kill(getpid(), SIGTERM) }
        } catch let error as DaemonError {
            state.withLock { $0.error = error }
            supervisor.status(status.line)
        } catch {}
    }

    private var status: DaemonStatus {
        var status = DaemonStatus(version: DaemonTool.version, state: .configurationError, tasksDirectory: "")
        (status.reason, status.hint) = (state.withLock { $0.error.message }, Self.hint)
        return status
    }
}
