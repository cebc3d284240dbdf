import CommandLineTool
import Glibc
import IdentityProtocol
import IdentityServer
import ServerData
import SystemIO

extension Command {
    static let user: Command = Command(
        "user", summary: "accounts of the server's users", group: "Administration",
        subcommands: [
            Command(
                "add", summary: "creates an account and prints a code with which its user sets the password",
                discussion: """
                    Prints the address, the id and the code. The user signs in with it, once:

                        ferry login https://tasks.example.org --code CODE
                    """,
                arguments: [.email],
                options: [
                    Option("password-stdin", summary: "set the password now, read from standard input"),
                    .expires(default: "7d"),
                ] + Option.place,
                action: { try await addUser($0) }),
            Command(
                "list", summary: "lists the accounts: e-mail, id, state, documents, bytes of objects",
                options: Option.place, action: { try await listUsers($0) }),
            Command(
                "show", summary: "shows an account, its usage and its quota", arguments: [.account],
                options: ConfigurationReader.quotaOptions + Option.place, action: { try await showUser($0) }),
            Command(
                "disable", summary: "ends an account's sessions and prevents new ones", arguments: [.account],
                options: [Option("undo", summary: "enable the account again, like 'enable'")] + Option.place,
                action: { try await setDisabled(!$0.has("undo"), $0) }),
            Command(
                "enable", summary: "enables a disabled account again", arguments: [.account],
                options: Option.place, action: { try await setDisabled(false, $0) }),
            Command(
                "delete", summary: "deletes an account with all its documents and attachments", arguments: [.account],
                options: [Option("yes", short: "y", summary: "do not ask"), .project] + Option.place,
                action: { try await deleteUser($0) }),
            Command(
                "reset-password", summary: "prints a code with which the user sets a new password",
                discussion: """
                    The old password stays valid until the code is used. Then all machines of the account have to sign
                    in again.

                        ferry login https://tasks.example.org --code CODE
                    """,
                arguments: [.account], options: [.expires(default: "1d")] + Option.place,
                action: { try await resetPassword($0) }),
            Command(
                "quota", summary: "sets an account's quota; options that are left out stay unchanged",
                arguments: [.account],
                options: [
                    Option(
                        "objects", value: "SIZE", summary: "bytes of attachments, like 20G; 'default' for the server's"),
                    Option("documents", value: "COUNT", summary: "documents; 'default' for the server's"),
                    Option("requests", value: "COUNT", summary: "requests per second; 'default' for the server's"),
                ] + Option.place,
                action: { try await setQuota($0) }),
        ])
}

extension Argument {
    fileprivate static let email = Argument("EMAIL", summary: "the user's e-mail address")
    fileprivate static let account = Argument("ACCOUNT", summary: "the user's e-mail address, or the account's id")
}

extension ParsedArguments {
    fileprivate var account: String { argument("ACCOUNT") ?? "" }
}

extension Account {
    fileprivate var name: String { email ?? "anonymous" }
    fileprivate var state: String { isDisabled ? "disabled" : hasPassword || isAnonymous ? "active" : "invited" }
}

private func addUser(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let email = arguments.argument("EMAIL") ?? ""
    let console = Console()
    if arguments.has("password-stdin") {
        let password = console.readLineOfInput()
        return try await Administration.run(arguments) { identity in
            let account = try await identity.accounts.add(email: email, password: password, now: WallClock.seconds())
            console.print("\(account.name)\t\(account.id)")
        }
    }
    let expires = try arguments.expiry(default: "7d", path: ["user", "add"])
    return try await Administration.run(arguments) { identity in
        let (account, code) = try await identity.accounts.add(
            email: email, expiresAt: expires, now: WallClock.seconds())
        console.print("\(account.name)\t\(account.id)\t\(code)")
    }
}

private func listUsers(_ arguments: ParsedArguments) async throws -> ExitStatus {
    try await Administration.run(arguments, changes: false) { identity in
        let usage = try Administration.usage(arguments)
        for account in try await identity.accounts.list() {
            let used = usage.of(account.id)
            Console().print(
                "\(account.name)\t\(account.id)\t\(account.state)\t\(used.documents)\t\(used.objectBytes)")
        }
    }
}

private func showUser(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let quota = try ConfigurationReader(arguments).quota()
    return try await Administration.run(arguments, changes: false) { identity in
        let account = try await identity.accounts.account(named: arguments.account)
        let used = try Administration.usage(arguments).of(account.id)
        let allowed = quota.overridden(by: account.quota)
        let console = Console()
        func own(_ value: Int64?) -> String { value == nil ? "" : ", set for this account" }
        console.print("account\t\(account.name)")
        console.print("id\t\(account.id)")
        console.print("state\t\(account.state)")
        console.print(
            "documents\t\(used.documents) of \(allowed.documents)\(own(account.quota.documents))")
        console.print(
            "objects\t\(ByteCount.text(used.objectBytes)) of \(ByteCount.text(allowed.objectBytes))"
                + own(account.quota.objectBytes))
        console.print(
            "requests\t\(allowed.requestsPerSecond) a second\(own(account.quota.requestsPerSecond))")
    }
}

private func setDisabled(_ isDisabled: Bool, _ arguments: ParsedArguments) async throws -> ExitStatus {
    try await Administration.run(arguments) { identity in
        let account = try await identity.accounts.setDisabled(
            isDisabled, named: arguments.account, now: WallClock.seconds())
        Console().print("\(account.name)\t\(account.id)\t\(account.state)")
    }
}

private func resetPassword(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let expires = try arguments.expiry(default: "1d", path: ["user", "reset-password"])
    return try await Administration.run(arguments) { identity in
        let account = try await identity.accounts.account(named: arguments.account)
        let code = try await identity.accounts.passwordCode(for: account, expiresAt: expires)
        Console().print("\(account.name)\t\(account.id)\t\(code)")
    }
}

private func setQuota(_ arguments: ParsedArguments) async throws -> ExitStatus {
    func value(_ name: String, _ read: (String) -> Int64?) throws -> Int64?? {
        guard let text = arguments.value(name) else { return nil }
        if text == "default" { return .some(nil) }
        guard let value = read(text) else {
            throw UsageError("--\(name) takes a number or 'default', not '\(text)'.", path: ["user", "quota"])
        }
        return value
    }
    let objects = try value("objects", Amount.bytes)
    let documents = try value("documents", Amount.count)
    let requests = try value("requests") { Amount.count($0).flatMap { $0 > 0 ? $0 : nil } }
    guard objects != nil || documents != nil || requests != nil else {
        throw UsageError("Give at least one of --objects, --documents and --requests.", path: ["user", "quota"])
    }
    return try await Administration.run(arguments) { identity in
        let account = try await identity.accounts.account(named: arguments.account)
        var quota = account.quota
        if let objects { quota.objectBytes = objects }
        if let documents { quota.documents = documents }
        if let requests { quota.requestsPerSecond = requests }
        _ = try await identity.accounts.setQuota(quota, of: account, now: WallClock.seconds())
        Console().print("\(account.name)\t\(account.id)")
    }
}

private func deleteUser(_ arguments: ParsedArguments) async throws -> ExitStatus {
    let console = Console()
    var deleted: Account?
    let status = try await Administration.run(arguments) { identity in
        let account = try await identity.accounts.account(named: arguments.account)
        if !arguments.has("yes") {
            let question = "Delete \(account.name) (\(account.id)) with all documents and attachments on this server?"
            switch console.confirm(question) {
            case true?: break
            case false?: throw ServerError(.failed, "Nothing was deleted.")
            case nil:
                throw UsageError("\(question) Without a terminal, confirm with --yes.", path: ["user", "delete"])
            }
        }
        try await identity.accounts.delete(account, now: WallClock.seconds())
        deleted = account
    }
    guard let deleted else { return status }
    // The servers on a database remove the data soon.
    if try ConfigurationReader(arguments).database() == nil {
        try await AccountRemoval.finish(of: deleted.id, arguments)
    }
    console.print("\(deleted.name)\t\(deleted.id)\tdeleted")
    return status
}
