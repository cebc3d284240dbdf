import CommandLineTool
import IdentityServer
import ServerData
import SystemIO

extension Command {
    static let invite: Command = Command(
        "invite", summary: "prints a code with which a new account can be created",
        discussion: """
            Needed if the server runs with '--sign-up invite', which is the default unless only its own machine can
            reach it. The code is shown only once.

                ferry login https://tasks.example.org --email anna@example.org --create --invite CODE
            """,
        group: "Administration",
        options: [
            Option("uses", value: "COUNT", summary: "number of accounts that can be created with it (default 1)"),
            .expires(default: "7d"),
        ] + Option.place,
        action: { arguments in
            let uses = arguments.value("uses") ?? "1"
            guard let uses = Int(uses), (1...100_000).contains(uses) else {
                throw UsageError("--uses takes a number from 1 to 100000.", path: ["invite"])
            }
            let expires = try arguments.expiry(default: "7d", path: ["invite"])
            return try await Administration.run(arguments) { identity in
                Console().print(
                    try await identity.accounts.invite(uses: uses, expiresAt: expires, now: WallClock.seconds()))
            }
        })
}

extension Option {
    static func expires(default value: String) -> Option {
        Option("expires", value: "TIME", summary: "how long the code is valid, such as 12h or 7d (default \(value))")
    }
}

extension ParsedArguments {
    /// Returns the expiration of a code in seconds since 1970.
    func expiry(default text: String, path: [String]) throws -> Int64 {
        let text = value("expires") ?? text
        guard let seconds = Amount.seconds(text) else {
            throw UsageError("--expires takes a time such as 30m, 12h, 7d or 2w, not '\(text)'.", path: path)
        }
        return WallClock.seconds() + seconds
    }
}
