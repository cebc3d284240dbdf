import CommandLineTool
import Identity

extension Command {
    static let user: Command = Command(
        "user", summary: "accounts of the server's users", group: "Administration",
        subcommands: [
            Command(
                "add", summary: "makes an account",
                discussion: "The password comes from a prompt or with --password-stdin, never as an argument.",
                arguments: [Argument("EMAIL", summary: "the user's e-mail address")],
                options: [
                    Option("password-stdin", summary: "read the password from standard input"), .data, .config,
                ],
                action: { try await addUser($0) }),
            Command(
                "list", summary: "lists the accounts: e-mail, id, state", options: [.data, .config],
                action: { try await listUsers($0) }),
            Command(
                "disable", summary: "ends an account's sessions and keeps it from new ones",
                arguments: [Argument("EMAIL", summary: "the user's e-mail address")],
                options: [Option("undo", summary: "let the account in again"), .data, .config],
                action: { try await disableUser($0) }),
        ])
}

private func addUser(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let email = arguments.argument("EMAIL") ?? ""
    let console = Console()
    let password: String
    if arguments.has("password-stdin") {
        password = console.readLineOfInput()
    } else if let typed = console.readSecret("Password for \(email): ") {
        password = typed
    } else {
        throw UsageError(
            "There is no terminal to ask for the password on; pipe it in with --password-stdin.", path: ["user", "add"])
    }
    return try await Administration.run(arguments) { identity in
        let account = try await identity.accounts.add(email: email, password: password, now: WallClock.seconds())
        console.print("\(account.email ?? email)\t\(account.id)")
    }
}

private func listUsers(_ arguments: ParsedArguments) async throws -> ExitStatus {
    try await Administration.run(arguments, changes: false) { identity in
        for account in try await identity.accounts.list() {
            let state = account.isDisabled ? "disabled" : "active"
            Console().print("\(account.email ?? "anonymous")\t\(account.id)\t\(state)")
        }
    }
}

private func disableUser(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let email = arguments.argument("EMAIL") ?? ""
    return try await Administration.run(arguments) { identity in
        let account = try await identity.accounts.setDisabled(
            !arguments.has("undo"), email: email, now: WallClock.seconds())
        Console().print("\(account.email ?? email)\t\(account.id)\t\(account.isDisabled ? "disabled" : "active")")
    }
}
