import CommandLineTool
import Control

/// Asks for passwords and signs in.
struct SignIn {
    let context: CommandContext

    /// A password, from standard input or a prompt; never from an argument.
    func password(_ prompt: String) throws -> String {
        if context.arguments.has("password-stdin") {
            let text = try readStandardInput(limit: 4096)
            return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
        }
        guard let password = context.terminal.readSecret("\(prompt): ") else {
            throw CommandFailure(
                "There is no terminal to ask for the password.", hint: "Pipe it in with --password-stdin.",
                status: .usage)
        }
        return password
    }

    /// A password that is to be set: a prompt asks twice.
    func newPassword(_ prompt: String) throws -> String {
        let first = try password(prompt)
        guard !context.arguments.has("password-stdin") else { return first }
        guard try password("\(prompt), again") == first else {
            throw CommandFailure("The passwords differ. Nothing was changed.", status: .usage)
        }
        return first
    }

    /// Signs in, and asks on a terminal what is to become of tasks that belong to another account.
    ///
    /// - Throws: `CommandFailure` where that is left undecided.
    func run(_ request: SignInRequest) async throws -> AccountSummary {
        do {
            return try await context.announcing("Waiting for \(request.server.printable).") {
                try await context.service.signIn(request)
            }
        } catch let error as ControlError where error.code == .conflict && !request.merges {
            guard try confirmMerge(error) else { throw CommandFailure("Not signed in.") }
            var request = request
            request.merges = true
            return try await context.service.signIn(request)
        }
    }

    /// Asks what is to become of tasks that belong to another account. Returns whether they are to
    /// be united with the new one's.
    ///
    /// - Throws: `error`, where there is no terminal to ask on.
    private func confirmMerge(_ error: ControlError) throws -> Bool {
        let question =
            "\(error.message.printable)\nMerge them into the account, use a new directory, or cancel? [m/n/C] "
        switch context.terminal.ask(question)?.lowercased() {
        case nil: throw error
        case "m"?, "merge"?: return true
        case "n"?, "new"?:
            context.terminal.note(
                "Nothing was changed. Name the new directory as 'tasks: DIRECTORY' in ferryd.yaml ('ferry config' shows where "
                    + "that is), run 'systemctl --user restart ferryd', and sign in again.")
            return false
        default:
            context.terminal.note("Nothing was changed.")
            return false
        }
    }
}
