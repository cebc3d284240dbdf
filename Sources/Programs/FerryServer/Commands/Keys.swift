import CommandLineTool
import IdentityServer
import ServerData
import SystemIO

extension Command {
    static let keys: Command = Command(
        "keys", summary: "administrators' keys to the object store", group: "Administration",
        subcommands: [
            Command(
                "add", summary: "creates a key to every bucket and object",
                discussion: "The secret is shown only once.",
                arguments: [Argument("LABEL", .optional, summary: "what the key is for")], options: [.data, .config],
                action: { try await addKey($0) }),
            Command(
                "list", summary: "lists the keys: id, label", options: [.data, .config],
                action: { try await listKeys($0) }),
            Command(
                "remove", summary: "revokes a key", arguments: [Argument("KEY", summary: "the key's id")],
                options: [.data, .config], action: { try await removeKey($0) }),
        ])
}

private func addKey(_ arguments: ParsedArguments) async throws -> ExitStatus {
    try await Administration.run(arguments) { identity in
        let key = try await identity.storage.addAdministrator(
            label: arguments.argument("LABEL") ?? "", now: WallClock.seconds())
        Console().print("AWS_ACCESS_KEY_ID=\(key.accessKey)\nAWS_SECRET_ACCESS_KEY=\(key.secretKey)")
    }
}

private func listKeys(_ arguments: ParsedArguments) async throws -> ExitStatus {
    try await Administration.run(arguments, changes: false) { identity in
        for key in try await identity.storage.list() { Console().print("\(key.accessKey)\t\(key.label)") }
    }
}

private func removeKey(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let id = arguments.argument("KEY") ?? ""
    return try await Administration.run(arguments) { identity in
        guard try await identity.storage.remove(id) else {
            throw ServerError(.notFound, "There is no key \(id). 'ferry-server keys list' shows all keys.")
        }
    }
}
