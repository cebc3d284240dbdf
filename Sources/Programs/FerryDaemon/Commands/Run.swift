import CommandLineTool

extension Command {
    static let run: Command = Command(
        "run", summary: "keeps the tasks directory in step until it is told to stop",
        discussion: """
            When it is ready it prints one line, 'ready PATH-OF-SOCKET', and tells systemd. SIGTERM and SIGINT stop it in good
            order within 5 seconds.
            """,
        options: Setting.all.map(\.option) + [.config, .rebind],
        action: { arguments in
            try await DaemonRun(arguments).run()
            return .success
        })
}
