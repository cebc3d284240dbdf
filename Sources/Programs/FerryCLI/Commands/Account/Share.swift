import CommandLineTool
import Control
import JSON

extension Command {
    static let share = Command.daemon(
        "share", group: "Account", summary: "lets another account read and write a list",
        discussion: """
            The list becomes a directory on the other account's machines. Its tasks stay yours, whoever makes them, and everything
            that both change is merged. 'ferry unshare' takes it back.

                ferry share Groceries anna@example.org
            """,
        arguments: [
            Argument("LIST", summary: "the list's name", completion: .program("lists")),
            Argument("ADDRESS", summary: "the other account's e-mail address, or its id"),
        ], options: [.json]
    ) { context in
        context.show(
            try await context.service.share(
                context.arguments.argument("LIST") ?? "", with: context.arguments.argument("ADDRESS") ?? ""))
        return .success
    }

    static let unshare = Command.daemon(
        "unshare", group: "Account", summary: "takes a list back from an account, or leaves somebody else's",
        discussion: """
            Who loses a list keeps its files as tasks of their own; what is done to them from then on stays apart. Without ADDRESS
            the list is taken back from everybody.
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
    /// Who uses it; empty: its owner alone.
    var sharingWords: String {
        if let owner { return "from \(owner.printable)" }
        return sharedWith.isEmpty ? "" : "shared with \(sharedWith.map(\.printable).joined(separator: ", "))"
    }
}

extension CommandContext {
    fileprivate func show(_ list: ListSummary) {
        guard !wantsJSON else { return terminal.print(list.json.text) }
        terminal.print(
            "\(list.name.printable): \(list.sharingWords.isEmpty ? "not shared" : list.sharingWords)")
    }
}
