import CommandLineTool
import Control

extension Command {
    static let attachments = Command.daemon(
        "attachments", group: "Attachments", summary: "lists the attachments of a task", arguments: [.task()],
        options: [.json]
    ) { context in
        let task = try await context.service.task(try await context.task())
        if context.wantsJSON {
            context.print(document: ("attachments", task.attachments.json))
            return .success
        }
        var table = Table(flexible: [0], droppable: [2])
        for attachment in task.attachments {
            table.add([
                attachment.name.printable, formatted(bytes: attachment.size), attachment.mimeType,
                attachment.state.rawValue,
            ])
        }
        for line in table.lines(context.terminal.format, style: { $1 }) { context.terminal.print(line) }
        if task.attachments.isEmpty {
            context.terminal.note("'\(task.summary.title.printable)' has no attachments.")
        }
        return .success
    }

    static let get = Command.daemon(
        "get", group: "Attachments", summary: "downloads an attachment and prints its path",
        arguments: [.task(), .attachment("NAME", .optional, "the attachment's name; all of them unless told")],
        options: [.json]
    ) { context in
        let reference = try await context.task()
        let wanted = context.arguments.argument("NAME")
        let before = try await context.service.task(reference)
        let names = wanted.map { word in before.attachment(meantBy: word).map { [$0] } ?? [] } ?? before.attachments
        guard wanted == nil || !names.isEmpty else {
            throw CommandFailure(
                "'\(before.summary.title.printable)' has no attachment '\(wanted ?? "")'.",
                hint: "'ferry attachments' lists them.", status: .notFound)
        }
        var transfers: [TransferSummary] = []
        for attachment in names where attachment.state != .here {
            transfers.append(try await context.service.fetch(before.summary.id, attachment: attachment.id))
        }
        transfers = try await context.watch(transfers)
        let ids = Set(names.map(\.id))
        let now = try await context.service.task(before.summary.id).attachments.filter { ids.contains($0.id) }
        if context.wantsJSON { context.print(document: ("attachments", now.json)) }
        let directory = try await context.service.status().tasksDirectory
        for attachment in now where !context.wantsJSON {
            if let path = attachment.path { context.terminal.print("\(directory)/\(path)") }
        }
        return context.status(of: transfers)
    }

    static let detach = Command.daemon(
        "detach", group: "Attachments", summary: "removes an attachment from a task",
        discussion: "It is moved to the trash: 'ferry trash' shows it, 'ferry restore' or 'ferry undo' brings it back.",
        arguments: [.task(), .attachment("NAME", .one, "the attachment's name")]
    ) { context in
        try await context.service.detach(
            try await context.task(), attachment: context.arguments.argument("NAME") ?? "")
        return .success
    }
}

extension TaskDetail {
    /// Returns the attachment with this id or exactly this name, or else the one whose name differs
    /// only in Unicode normalization.
    func attachment(meantBy word: String) -> AttachmentSummary? {
        attachments.first { $0.id == word || $0.name.utf8.elementsEqual(word.utf8) }
            ?? attachments.first { $0.name == word }
    }
}
