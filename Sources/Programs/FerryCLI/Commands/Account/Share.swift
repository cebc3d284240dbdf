import CommandLineTool
import Control
import JSON

extension Command {
    static let share = Command.daemon(
        "share", group: "Account", summary: "invites another account to read and write a list",
        discussion: """
            The other account has to accept with 'ferry invitations'. Then the list becomes a directory on its machines.
            The tasks of the list stay yours, whoever creates them, and changes of both are merged. 'ferry unshare' ends
            the sharing or withdraws the invitation.

                ferry share Groceries anna@example.org
            """,
        arguments: [
            Argument("LIST", summary: "the list's name", completion: .program("lists")),
            Argument("ADDRESS", summary: "the other account's e-mail address, or its id"),
        ], options: [.json]
    ) { context in
        let address = context.arguments.argument("ADDRESS") ?? ""
        context.show(try await context.service.share(context.arguments.argument("LIST") ?? "", with: address))
        if !context.wantsJSON {
            context.terminal.note(
                "\(address.printable) sees the list after accepting the invitation: ferry invitations accept.")
        }
        return .success
    }

    static let unshare = Command.daemon(
        "unshare", group: "Account", summary: "stops sharing a list, or leaves a list of another account",
        discussion: """
            The other account keeps the list's files as tasks of its own, which are no longer synced with yours. Without
            ADDRESS the list is no longer shared with any account. An invitation that was not accepted is withdrawn.
            """,
        arguments: [
            Argument("LIST", summary: "the list's name", completion: .program("lists")),
            Argument("ADDRESS", .optional, summary: "an account's e-mail address, or its id"),
        ], options: [.json]
    ) { context in
        context.show(
            try await context.service.unshare(
                context.arguments.argument("LIST") ?? "", from: context.arguments.argument("ADDRESS")))
        return .success
    }
}

extension ListSummary {
    /// The users of the list in words; empty if only its owner uses it.
    var sharingWords: String {
        if let owner { return "from \(owner.printable)" }
        func words(_ start: String, _ names: [String]) -> [String] {
            names.isEmpty ? [] : ["\(start) \(names.map(\.printable).joined(separator: ", "))"]
        }
        return (words("shared with", sharedWith) + words("invited", invited)).joined(separator: "; ")
    }
}

extension CommandContext {
    fileprivate func show(_ list: ListSummary) {
        guard !wantsJSON else { return terminal.print(list.json.text) }
        terminal.print(
            "\(list.name.printable): \(list.sharingWords.isEmpty ? "not shared" : list.sharingWords)")
    }
}
