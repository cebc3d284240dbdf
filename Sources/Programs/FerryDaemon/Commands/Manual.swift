import CommandLineTool
import SystemIO

extension Command {
    static let completion: Command = Command(
        "completion", summary: "prints a completion script for a shell",
        discussion: """
            Load it from the shell's start-up file:

                source <(ferryd completion bash)
            """,
        group: "Care",
        arguments: [
            Argument("SHELL", summary: "bash, zsh or fish", completion: .words(Shell.allCases.map(\.rawValue)))
        ],
        action: { arguments in
            guard let shell = arguments.argument("SHELL").flatMap(Shell.init(rawValue:)) else {
                throw UsageError("Name a shell: bash, zsh or fish.", path: ["completion"])
            }
            Console().print(DaemonTool.command.completionScript(for: shell))
            return .success
        })

    static let manual: Command = Command(
        "manual", summary: "prints a manual page, for man -l -", group: "Care",
        arguments: [
            Argument(
                "PAGE", .optional, summary: "ferryd, the default, or ferryd.yaml",
                completion: .words(["ferryd", "ferryd.yaml"]))
        ],
        action: { arguments in
            switch arguments.argument("PAGE") ?? "ferryd" {
            case "ferryd": Console().print(ManualPages.daemon)
            case "ferryd.yaml": Console().print(ManualPages.configuration)
            case let page:
                throw UsageError("There is no page '\(page)'; there are ferryd and ferryd.yaml.", path: ["manual"])
            }
            return .success
        })
}
