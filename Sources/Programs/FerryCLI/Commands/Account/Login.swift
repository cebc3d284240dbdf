import CommandLineTool
import Control

extension Command {
    static let login = Command.daemon(
        "login", group: "Account", summary: "signs this machine in to a server",
        discussion: """
            Without --email an anonymous account is made, which 'ferry link' can turn into a lasting one. A second machine signs
            in with the same e-mail address and password.

                ferry login https://ferry.example.org --email me@example.org
            """,
        arguments: [Argument("URL", summary: "the server's address, as it prints it")],
        options: Command.credentials + [Option("create", summary: "make the account"), .json]
    ) { context in
        let email = context.arguments.value("email")
        guard email != nil || !context.arguments.has("create") else {
            throw UsageError("--create needs --email.", path: ["login"])
        }
        let request = SignInRequest(
            server: context.arguments.argument("URL") ?? "", email: email,
            password: try email.map { try context.password(for: $0) }, create: context.arguments.has("create"))
        context.show(try await context.service.signIn(request))
        return .success
    }

    static let link = Command.daemon(
        "link", group: "Account", summary: "turns the anonymous account into a lasting one, with everything in it",
        options: Command.credentials + [.json]
    ) { context in
        guard let email = context.arguments.value("email") else {
            throw UsageError("--email is missing.", path: ["link"])
        }
        context.show(try await context.service.link(email: email, password: try context.password(for: email)))
        return .success
    }

    static let logout = Command.daemon(
        "logout", group: "Account", summary: "signs out; files and unsent changes stay"
    ) { context in
        try await context.service.signOut()
        return .success
    }

    static let whoami = Command.daemon("whoami", group: "Account", summary: "shows the account", options: [.json]) {
        context in
        context.show(try await context.service.account())
        return .success
    }

    private static let credentials = [
        Option("email", value: "ADDRESS", summary: "the account's e-mail address"),
        Option("password-stdin", summary: "read the password from standard input"),
    ]
}

extension CommandContext {
    /// The password, from standard input or a prompt; never from an argument.
    fileprivate func password(for email: String) throws -> String {
        if arguments.has("password-stdin") {
            let text = try readStandardInput(limit: 4096)
            return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
        }
        guard let password = terminal.readSecret("Password for \(email): ") else {
            throw CommandFailure(
                "There is no terminal to ask for the password on.", hint: "Pipe it in with --password-stdin.",
                status: .usage)
        }
        return password
    }

    fileprivate func show(_ account: AccountSummary) {
        if wantsJSON {
            print(document: ("account", account.json))
        } else {
            terminal.print("\(account.email ?? "anonymous") (\(account.userID)) on \(account.server)")
        }
    }
}
