import CommandLineTool
import Control

extension Command {
    static let devices = Command.daemon(
        "devices", group: "Account", summary: "lists the machines of the account and when they were last seen",
        discussion: "A machine reports once an hour. Its name is ferryd's setting device-name.",
        options: [.json]
    ) { context in
        let devices = try await context.service.devices()
        guard !context.wantsJSON else {
            context.print(document: ("devices", devices.json))
            return .success
        }
        context.show(
            rows: devices.map { device in
                [
                    String(device.id.prefix(8)), device.name.printable, device.isThisOne ? "this machine" : "",
                    device.version.map { "ferryd \($0)".printable } ?? "",
                    device.lastSeen.map { "last seen \(MomentWords.text($0))" } ?? "not yet known to the server",
                ]
            }, flexible: [1], droppable: [3, 0])
        return .success
    }
}
