import CommandLineTool
import SystemIO

extension Command {
    static let run: Command = Command(
        "run", summary: "syncs the tasks directory until it is stopped",
        discussion: """
            When it is ready it prints one line, 'ready PATH-OF-SOCKET', and tells systemd. SIGTERM and SIGINT stop it in good
            order within 5 seconds.

            Under systemd a mistake in the configuration does not end it: 'ferry status' says what is wrong, and it starts as soon as
            the file is mended. When an upgrade has replaced the program, it starts again as soon as nothing is under way.
            """,
        options: Setting.all.map(\.option) + [.config, .rebind],
        action: { arguments in
            let run: DaemonRun
            do { run = try DaemonRun(arguments) } catch let error as DaemonError {
                // systemd would restart it a few times and give up. On a terminal the user sees the error.
                guard error.code == .configuration, ProcessEnvironment["NOTIFY_SOCKET"] != nil else { throw error }
                return try await ConfigurationRepair(arguments, error).serve()
            }
            return try await run.run()
        })
}
