import CommandLineTool

/// The manual pages ferryd(8) and ferryd.yaml(5), generated from the declarations of commands and
/// settings.
enum ManualPages {
    static var daemon: String {
        DaemonTool.command.manualPage(
            section: 8, version: DaemonTool.version, date: DaemonTool.releaseDate, extra: daemonSections)
    }

    static var configuration: String {
        let keys = Setting.all.map { setting in
            "\(setting.name): \(setting.value)\n\n    \(setting.summary)\n\n\(setting.details) The flag is --\(setting.name), "
                + "the variable \(setting.variable)."
        }
        return Command(
            "ferryd.yaml", summary: "configuration of ferryd",
            discussion: """
                A YAML mapping. An unknown key is an error that names the most similar key. Flags take precedence over
                environment variables, and variables over this file. Paths begin with / or ~/.

                ferryd reads ~/.config/ferry/ferryd.yaml, or the file that --config or FERRY_CONFIG names, when it
                starts and on SIGHUP.
                """
        ).manualPage(
            section: 5, version: DaemonTool.version, date: DaemonTool.releaseDate,
            extra: [
                ("Keys", keys.joined(separator: "\n\n")),
                (
                    "Example",
                    """
                        tasks: ~/Documents/Tasks
                        log-level: debug
                        upload-limit: 500K
                    """
                ), ("See also", "ferryd(8), ferry(1)"),
            ])
    }

    private static let daemonSections: [(title: String, text: String)] = [
        (
            "Signals",
            """
            SIGTERM and SIGINT stop the daemon within 5 seconds without losing data. SIGHUP reads the configuration
            again.
            """
        ),
        (
            "Files",
            """
            ~/.config/ferry/ferryd.yaml, see ferryd.yaml(5).

            ~/.local/share/ferry: session.json (mode 0600), server.json, one replica-….db for each server and account.

            A damaged state file is renamed to replica-….db.damaged-…; the daemon builds a new one from the tasks
            directory and the server.
            """
        ),
        (
            "Exit status",
            """
            0 stopped on request

            1 failed; another daemon may use the state or the tasks directory

            78 bad configuration: a flag, a variable or a key cannot be used
            """
        ),
        ("See also", "ferry(1), ferryd.yaml(5), ferry-server(8)"),
    ]
}
