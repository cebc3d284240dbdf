import CommandLineTool
import IdentityServer
import JSON
import ServerData
import SystemIO

extension Command {
    static let keys: Command = Command(
        "keys", summary: "keys to objects and accounts, and those that sign tokens", group: "Administration",
        subcommands: [
            Command(
                "add", summary: "creates a key to every bucket and object",
                discussion: """
                    The secret is shown only once. With --service-account the key is for programs that manage accounts with
                    Google's Admin SDKs, and is printed in their form:

                        ferry-server keys add --service-account backoffice > key.json

                    With --standby the key is for 'ferry-server replicate', and gives access to everything on the server.
                    """,
                arguments: [Argument("LABEL", .optional, summary: "what the key is for")],
                options: [
                    Option("service-account", summary: "a key to accounts, as a file of a Google service account"),
                    Option("standby", summary: "a key to copy the server, for 'replicate'"),
                ] + Option.place,
                action: { try await addKey($0) }),
            Command(
                "list", summary: "lists the keys: id, label", options: Option.place,
                action: { try await listKeys($0) }),
            Command(
                "remove", summary: "revokes a key", arguments: [Argument("KEY", summary: "the key's id")],
                options: Option.place, action: { try await removeKey($0) }),
            Command(
                "rotate", summary: "adds a key that signs tokens an hour from now", options: Option.place,
                action: { try await Administration.run($0) { try await $0.rotateSigningKeys() } }),
        ])
}

private func addKey(_ arguments: ParsedArguments) async throws -> ExitStatus {
    if arguments.has("standby") {
        guard let keys = try standbyKeys(arguments, create: true) else {
            throw ServerError(.configuration, "A standby copies a server on SQLite, without --database.")
        }
        let key = try keys.add(label: arguments.argument("LABEL") ?? "")
        Console().print(String(decoding: key.prettyBytes, as: UTF8.self))
        return .success
    }
    guard !arguments.has("service-account") else { return try await addServiceAccount(arguments) }
    return try await Administration.run(arguments) { identity in
        let key = try await identity.storage.addAdministrator(
            label: arguments.argument("LABEL") ?? "", now: WallClock.seconds())
        Console().print("AWS_ACCESS_KEY_ID=\(key.accessKey)\nAWS_SECRET_ACCESS_KEY=\(key.secretKey)")
    }
}

/// Returns the keys of standbys; nil for a server on a database.
private func standbyKeys(_ arguments: ParsedArguments, create: Bool = false) throws -> StandbyKeys? {
    guard try ConfigurationReader(arguments).database() == nil else { return nil }
    return StandbyKeys(DataLayout(path: try Administration.dataDirectory(arguments, create: create)))
}

private func addServiceAccount(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let reader = try ConfigurationReader(arguments)
    let path = try reader.database() == nil ? Administration.dataDirectory(arguments, create: true) : ""
    let settings = try reader.configuration(administering: path)
    let local = DataDirectory.listening(of: path).map { "\($0.isSecure ? "https" : "http")://\($0.address)" }
    guard let url = try reader.publishedURL() ?? local else {
        throw ServerError(
            .failed, "The key names the server's URL. Start the server first, or name its configuration with --config.")
    }
    return try await Administration.run(arguments) { identity in
        let key = try await identity.serviceKeys.add(
            label: arguments.argument("LABEL") ?? "", url: url, project: settings.project, now: WallClock.seconds())
        Console().print(String(decoding: key.prettyBytes, as: UTF8.self))
    }
}

private func listKeys(_ arguments: ParsedArguments) async throws -> ExitStatus {
    try await Administration.run(arguments, changes: false) { identity in
        for key in try await identity.storage.list() { Console().print("\(key.accessKey)\t\(key.label)") }
        for key in try await identity.serviceKeys.list() {
            Console().print("\(key.keyID)\t\(key.label)\t\(key.email)")
        }
        for key in try standbyKeys(arguments)?.list() ?? [] { Console().print("\(key.id)\t\(key.label)\tstandby") }
    }
}

private func removeKey(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let id = arguments.argument("KEY") ?? ""
    if try standbyKeys(arguments)?.remove(id) == true { return .success }
    return try await Administration.run(arguments) { identity in
        if try await identity.storage.remove(id) { return }
        guard try await identity.serviceKeys.remove(id) else {
            throw ServerError(.notFound, "There is no key \(id). 'ferry-server keys list' shows all keys.")
        }
    }
}
