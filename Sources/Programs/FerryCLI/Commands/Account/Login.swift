import CommandLineTool
import Control

extension Command {
    static let login = Command.daemon(
        "login", group: "Account", summary: "signs this machine in to a server",
        discussion: """
            Without --email an anonymous account is created, which 'ferry link' can turn into a permanent one. A second
            machine signs in with the same e-mail address and password.

                ferry login https://ferry.example.org --email me@example.org

            A server that requires invitations asks for a code for a new account:

                ferry login https://ferry.example.org --email me@example.org --create --invite CODE

            The server's administrator gives you a code for an account that was created for you, or if you have
            forgotten the password. It sets the password once:

                ferry login https://ferry.example.org --code CODE

            With an OpenID provider that the server knows, a browser opens the provider's page; with --device that
            may be a browser on another device:

                ferry login https://ferry.example.org --with home

            If the tasks of this machine belong to another account, it asks before it changes anything.
            """,
        arguments: [Argument("URL", summary: "the URL that the server prints")],
        options: Command.credentials + ProviderLogin.options + [
            Option("create", summary: "create the account"),
            Option("invite", value: "CODE", summary: "the invitation code for the new account"),
            Option("code", value: "CODE", summary: "set the password with this code, and sign in"),
            Option("merge", summary: "merge the tasks of another account with this one's without asking"), .json,
        ]
    ) { context in
        let arguments = context.arguments
        let (email, code, creates) = (arguments.value("email"), arguments.value("code"), arguments.has("create"))
        if let provider = arguments.value("with") {
            guard email == nil, code == nil, !creates else {
                throw UsageError("--with needs none of --email, --code and --create.", path: ["login"])
            }
            let request = ProviderSignInRequest(
                server: arguments.argument("URL"), provider: provider, usesDevice: arguments.has("device"),
                invitation: arguments.value("invite"))
            context.show(try await ProviderLogin(context: context).run(request, merges: arguments.has("merge")))
            return .success
        }
        guard email != nil || !creates else { throw UsageError("--create needs --email.", path: ["login"]) }
        guard code == nil || !creates else {
            throw UsageError("--code is for an existing account; leave out --create.", path: ["login"])
        }
        guard arguments.value("invite") == nil || creates || email == nil else {
            throw UsageError("--invite is for a new account; add --create.", path: ["login"])
        }
        var password: String?
        if code != nil {
            password = try SignIn(context: context).newPassword("New password")
        } else if let email {
            let signIn = SignIn(context: context)
            password =
                try creates ? signIn.newPassword("Password for \(email)") : signIn.password("Password for \(email)")
        }
        let request = SignInRequest(
            server: arguments.argument("URL") ?? "", email: email, password: password, create: creates,
            invitation: arguments.value("invite"), code: code, merges: arguments.has("merge"))
        context.show(try await SignIn(context: context).run(request))
        return .success
    }

    static let password = Command.daemon(
        "password", group: "Account", summary: "changes the account's password",
        discussion: """
            Asks for the current password, and twice for the new one. The account's other machines have to sign in
            again. With --password-stdin the first line is the current password and the second the new one.

            If you have forgotten it, ask the server's administrator for a code, and run 'ferry login URL --code CODE'.
            """,
        options: [Option("password-stdin", summary: "read both passwords from standard input, a line each")]
    ) { context in
        let (old, new): (String, String)
        if context.arguments.has("password-stdin") {
            let lines = try readStandardInput(limit: 4096).split(
                omittingEmptySubsequences: false, whereSeparator: { $0.isNewline })
            guard lines.count >= 2 else {
                throw CommandFailure(
                    "Two lines are needed: the current password and the new one.", status: .usage)
            }
            (old, new) = (String(lines[0]), String(lines[1]))
        } else {
            old = try SignIn(context: context).password("Current password")
            new = try SignIn(context: context).newPassword("New password")
        }
        try await context.service.changePassword(from: old, to: new)
        context.terminal.note("The password was changed. Other machines of the account have to sign in again.")
        return .success
    }

    static let link = Command.daemon(
        "link", group: "Account", summary: "turns the anonymous account into a permanent one with all its data",
        discussion: """
            With --with, an account at an OpenID provider signs in to this account from then on. If that signs in to
            another account already, it offers to sign in to that one and bring the tasks of this machine along.
            """,
        options: Command.credentials + ProviderLogin.options + [.json]
    ) { context in
        if let provider = context.arguments.value("with") {
            let request = ProviderSignInRequest(
                provider: provider, usesDevice: context.arguments.has("device"), links: true)
            context.show(try await ProviderLogin(context: context).run(request, merges: false))
            return .success
        }
        guard let email = context.arguments.value("email") else {
            throw UsageError("--email is missing.", path: ["link"])
        }
        let password = try SignIn(context: context).newPassword("Password for \(email)")
        context.show(try await context.service.link(email: email, password: password))
        return .success
    }

    static let logout = Command.daemon(
        "logout", group: "Account", summary: "signs out; files and unsent changes stay"
    ) { context in
        try await context.service.signOut()
        return .success
    }

    static let whoami = Command.daemon(
        "whoami", group: "Account", summary: "shows the account, its usage and its quota",
        options: [.json]
    ) { context in
        let account = try await context.service.account()
        // The account is known here even while the server is unreachable.
        let usage = try? await context.service.usage()
        context.show(account, usage ?? nil)
        return .success
    }

    static let credentials = [
        Option("email", value: "ADDRESS", summary: "the account's e-mail address"),
        Option("password-stdin", summary: "read the password from standard input"),
    ]
}

extension CommandContext {
    fileprivate func show(_ account: AccountSummary, _ usage: AccountUsageSummary? = nil) {
        if wantsJSON {
            if let usage {
                print(document: ("account", account.json), ("usage", usage.json))
            } else {
                print(document: ("account", account.json))
            }
            return
        }
        terminal.print(account.line)
        guard let usage else { return }
        let used = formatted(bytes: usage.objectBytes)
        let allowed = formatted(bytes: usage.objectBytesLimit)
        terminal.print("\(used) of \(allowed) of attachments, \(usage.documents) of \(usage.documentsLimit) documents")
    }
}

extension AccountSummary {
    /// The account as one line of text.
    fileprivate var line: String {
        "\(email?.printable ?? "anonymous") (\(userID.printable)) on \(server.printable)"
    }
}
