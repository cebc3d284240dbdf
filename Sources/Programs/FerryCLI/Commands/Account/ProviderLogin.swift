import CommandLineTool
import Control

/// Signs in with, or links, an account at an OpenID provider.
struct ProviderLogin {
    let context: CommandContext

    static let options = [
        Option("with", value: "NAME", summary: "sign in with an OpenID provider of the server's"),
        Option("device", summary: "with --with: use a browser on another device"),
    ]

    func run(_ request: ProviderSignInRequest, merges: Bool) async throws -> AccountSummary {
        let begun = try await context.service.beginSignIn(request)
        if let code = begun.userCode {
            context.terminal.note("Open \(begun.url.printable) on any device, and enter \(code.printable).")
        } else {
            // The page is shown in any case, because what opens may not be the user's browser.
            context.terminal.note("Open this page in a browser on this machine:\n\n    \(begun.url.printable)\n")
            if Desktop.opens, begun.url.hasPrefix("http") { _ = try? Desktop.open(begun.url) }
        }
        var decision = ProviderSignInDecision(id: begun.id, merges: merges)
        do {
            return try await context.service.finishSignIn(decision)
        } catch let error as ControlError where error.code == .alreadyThere && request.links {
            guard try confirm(error) else { throw CommandFailure("Nothing was changed.") }
            decision.signsIn = true
            return try await context.service.finishSignIn(decision)
        }
    }

    /// Asks whether to sign in to the account that the credential belongs to, and bring the tasks
    /// along.
    private func confirm(_ error: ControlError) throws -> Bool {
        let question = "\(error.message.printable)\nSign in to it, and bring the tasks of this machine along? [y/N] "
        guard let answer = context.terminal.ask(question) else { throw error }
        return ["y", "yes"].contains(answer.lowercased())
    }
}

extension Command {
    static let unlink = Command.daemon(
        "unlink", group: "Account", summary: "removes an OpenID provider, or the password, from the account",
        discussion: "The last way to sign in cannot be removed.",
        arguments: [Argument("NAME", summary: "the provider's name, or 'password'")]
    ) { context in
        let name = context.arguments.argument("NAME") ?? ""
        try await context.service.changeAccount(name: nil, removing: name)
        context.terminal.note("\(name.printable) no longer signs in to this account.")
        return .success
    }

    static let account = Command(
        "account", summary: "changes the account", group: "Account",
        subcommands: [
            Command.daemon(
                "name", group: "Account", summary: "changes the name of the account",
                arguments: [Argument("NAME", summary: "the name that others see")]
            ) { context in
                try await context.service.changeAccount(name: context.arguments.argument("NAME") ?? "", removing: nil)
                return .success
            }
        ], defaultSubcommand: "name")
}
