import CommandLineTool
import SystemIO

extension Command {
    static let completion: Command = Command(
        "completion", summary: "prints a completion script for a shell",
        discussion: """
            Load it from the shell's start-up file:

                source <(ferry-server completion bash)
            """,
        group: "Care",
        arguments: [
            Argument("SHELL", summary: "bash, zsh or fish", completion: .words(Shell.allCases.map(\.rawValue)))
        ],
        action: { arguments in
            guard let shell = arguments.argument("SHELL").flatMap(Shell.init(rawValue:)) else {
                throw UsageError("Name a shell: bash, zsh or fish.", path: ["completion"])
            }
            Console().print(FerryServerTool.command.completionScript(for: shell))
            return .success
        })

    static let manual: Command = Command(
        "manual", summary: "prints the manual page ferry-server(8), for man -l -", group: "Care",
        action: { _ in
            Console().print(
                FerryServerTool.command.manualPage(
                    section: 8, version: FerryServerTool.version, date: FerryServerTool.releaseDate,
                    extra: FerryServerTool.manualSections))
            return .success
        })
}
