import CommandLineTool
import Control
import JSON

extension Command {
    static let invitations = Command.daemon(
        "invitations", group: "Account", summary: "shows and answers invitations to lists of other accounts",
        discussion: """
            A list appears on this machine only after its invitation was accepted. INVITATION is its number or the start
            of its id.

                ferry invitations
                ferry invitations accept 1
            """,
        subcommands: [
            .daemon("list", group: "", summary: "shows the open invitations", options: [.json]) { context in
                let invitations = try await context.service.invitations()
                guard !context.wantsJSON else {
                    context.print(document: ("invitations", invitations.json))
                    return .success
                }
                let received = invitations.filter { !$0.isSent }
                var rows = received.enumerated().map { number, invitation in
                    [
                        "\(number + 1)", invitation.id.printable, invitation.list.printable,
                        "from \(invitation.from.printable)", invitation.time.map { MomentWords.text($0) } ?? "",
                    ]
                }
                rows += invitations.filter(\.isSent).map { invitation in
                    [
                        "-", invitation.id.printable, invitation.list.printable, "to \(invitation.to.printable)",
                        invitation.time.map { MomentWords.text($0) } ?? "not sent yet",
                    ]
                }
                context.show(rows: rows, flexible: [2, 3], droppable: [4])
                if invitations.isEmpty { context.terminal.note("There are no open invitations.") }
                if !received.isEmpty {
                    context.terminal.note(
                        "'ferry invitations accept N' accepts one, 'ferry invitations decline N' declines it.")
                }
                return .success
            },
            answering("accept", .accept, "joins the list", "accepted; the list appears in the tasks directory"),
            answering("decline", .decline, "removes the invitation", "declined"),
        ], defaultSubcommand: "list")

    private static func answering(
        _ name: String, _ answer: InvitationAnswer, _ summary: String, _ done: String
    ) -> Command {
        .daemon(
            name, group: "", summary: summary,
            arguments: [
                Argument(
                    "INVITATION", summary: "its number or the start of its id", completion: .program("invitations"))
            ], options: [.json]
        ) { context in
            let word = context.arguments.argument("INVITATION") ?? ""
            let invitation = try await context.service.answerInvitation(word, answer)
            guard !context.wantsJSON else {
                context.terminal.print(invitation.json.text)
                return .success
            }
            context.terminal.print("\(invitation.list.printable) from \(invitation.from.printable): \(done)")
            return .success
        }
    }

    static let block = Command.daemon(
        "block", group: "Account", summary: "blocks the invitations of an account, or shows the blocked accounts",
        discussion: "Lists that are already shared stay shared; 'ferry unshare LIST' leaves one.",
        arguments: [Argument("ADDRESS", .optional, summary: "an account's e-mail address, or its id")],
        options: [.json]
    ) { context in
        guard let address = context.arguments.argument("ADDRESS") else {
            context.show(blocks: try await context.service.blocks())
            return .success
        }
        context.show(blocks: try await context.service.setBlocked(address, true))
        return .success
    }

    static let unblock = Command.daemon(
        "unblock", group: "Account", summary: "accepts the invitations of an account again",
        arguments: [
            Argument("ADDRESS", summary: "an account's e-mail address, or its id", completion: .program("blocks"))
        ], options: [.json]
    ) { context in
        context.show(
            blocks: try await context.service.setBlocked(context.arguments.argument("ADDRESS") ?? "", false))
        return .success
    }
}

extension CommandContext {
    fileprivate func show(blocks: [BlockSummary]) {
        guard !wantsJSON else { return print(document: ("blocks", blocks.json)) }
        for block in blocks { terminal.print("\(block.name.printable): blocked") }
        if blocks.isEmpty { terminal.note("No account is blocked.") }
    }
}
