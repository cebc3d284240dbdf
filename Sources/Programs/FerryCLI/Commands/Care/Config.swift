import CommandLineTool
import Control

extension Command {
    static let config = Command.daemon(
        "config", group: "Care", summary: "shows the daemon's settings and their sources",
        subcommands: [
            .daemon("show", group: "", summary: "shows the settings", options: [.json]) { context in
                context.show(try await context.service.configuration())
                return .success
            },
            .daemon(
                "check", group: "", summary: "checks a configuration file before it is used",
                discussion: "The exit status is 78 for a file that ferryd would refuse.",
                arguments: [Argument("FILE", summary: "the file, or - for standard input", completion: .files)],
                options: [.json]
            ) { context in
                let file = context.arguments.argument("FILE") ?? "-"
                let text = try file == "-" ? readStandardInput(limit: 1 << 20) : readText(file, limit: 1 << 20)
                do {
                    let settings = try await context.service.checkConfiguration(
                        text, named: file == "-" ? "standard input" : file)
                    if context.wantsJSON {
                        context.show(settings)
                    } else {
                        context.terminal.print("\(file.printable) is good.")
                    }
                    return .success
                } catch let error as ControlError where error.code == .invalidArgument {
                    throw CommandFailure(
                        error.message,
                        hint: "ferryd.yaml(5) has the keys: ferryd manual ferryd.yaml.",
                        status: .badConfiguration)
                }
            },
        ], defaultSubcommand: "show")
}

extension CommandContext {
    fileprivate func show(_ settings: [SettingSummary]) {
        guard !wantsJSON else {
            print(document: ("settings", settings.json))
            return
        }
        show(
            rows: settings.map { [$0.key, $0.value.isEmpty ? "none" : $0.value, $0.source] }, flexible: [1, 2])
    }
}

extension ExitStatus {
    /// EX_CONFIG of sysexits(3).
    static let badConfiguration = ExitStatus(78)
}
