import CommandLineTool
import Control
import JSON

extension Command {
    static let mail = Command.daemon(
        "mail", group: "Account", summary: "sets when the server mails the tasks of the day, and shows it",
        discussion: """
            The server sends one mail a day with the tasks that are due or overdue, and none on days without any. That needs an
            account with an e-mail address, which is confirmed once by a mail with a link, and a server that sends mail. Each mail has
            a link that ends the mails.

                ferry mail 07:30
                ferry mail off
            """,
        arguments: [Argument("TIME", .optional, summary: "a time of day such as 07:30, or 'off'")],
        options: [
            Option("zone", value: "NAME", summary: "the time zone, such as Europe/Berlin; by default this machine's"),
            .json,
        ]
    ) { context in
        if let word = context.arguments.argument("TIME") {
            try await context.service.setMorningMail(try mail(word, zone: context.arguments.value("zone")))
        } else if context.arguments.value("zone") != nil {
            throw UsageError("--zone needs a time of day, such as 07:30.", path: ["mail"])
        }
        let mail = try await context.service.morningMail()
        if mail == nil, let word = context.arguments.argument("TIME"), word != "off" {
            throw CommandFailure("The server is too old for mails with tasks. Its administrator can upgrade it.")
        }
        if context.wantsJSON {
            context.terminal.print(mail?.json.text ?? "null")
            return .success
        }
        guard let mail else {
            context.terminal.print("The server sends no mails with tasks. 'ferry mail 07:30' begins them.")
            return .success
        }
        context.terminal.print("The server mails the tasks of the day at \(mail.time) (\(mail.zone.printable)).")
        if mail.waitsForAddress {
            context.terminal.note(
                "The mails begin once the address is confirmed: open the link in the mail from the server.")
        }
        return .success
    }

    /// Returns the setting that a word stands for; nil for none.
    private static func mail(_ word: String, zone: String?) throws -> MorningMailSummary? {
        if word == "off" { return nil }
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 2, (1...2).contains(parts[0].utf8.count),
            let hours = UInt8(parts[0]), let minutes = UInt8(parts[1]), hours < 24, minutes < 60,
            word.utf8.allSatisfy({ $0 != UInt8(ascii: "+") })
        else { throw UsageError("'\(word)' is not a time of day such as 07:30, and not 'off'.", path: ["mail"]) }
        guard let zone = zone ?? ZoneName.ofThisMachine else {
            throw UsageError(
                "This machine's time zone has no name. Give one, such as --zone Europe/Berlin.", path: ["mail"])
        }
        return MorningMailSummary(minute: Int(hours) * 60 + Int(minutes), zone: zone)
    }
}
