import CommandLineTool
import Control
import JSON

extension Command {
    static let log = Command.daemon(
        "log", group: "Care", summary: "shows what the daemon did recently",
        discussion: """
            With --follow it continues with new events, including changes of tasks and transfers, until Ctrl-C. The
            journal has more: journalctl --user -u ferryd.
            """,
        options: [
            Option("follow", short: "f", summary: "continue with new events"),
            Option("lines", short: "n", value: "NUMBER", summary: "only the last lines (default 50)"),
            Option("ndjson", summary: "print one JSON document per line"), .json,
        ]
    ) { context in
        let count = try context.arguments.integer("lines", in: 0...1000) ?? 50
        // Subscribe before reading the lines, so that none is missed in between.
        let events = context.arguments.has("follow") ? try await context.service.events(after: nil) : nil
        let lines = try await context.service.log().suffix(count)
        if context.wantsJSON, events == nil {
            context.print(document: ("log", Array(lines).json))
            return .success
        }
        let isJSON = context.wantsJSON || context.arguments.has("ndjson")
        for line in lines { context.terminal.print(isJSON ? line.json.text : line.words) }
        guard let events else { return .success }
        let shown = Set(lines)
        for try await event in events {
            try StandardOutput.check()
            if event.kind == .log, let line = try? LogLine(json: event.data), shown.contains(line) { continue }
            if isJSON {
                let document: JSON = ["event": .string(event.kind.rawValue), "data": event.data]
                context.terminal.print(document.text)
            } else if let words = event.words {
                context.terminal.print(words)
            }
        }
        throw ControlError(.notRunning, "The daemon stopped.", hint: "systemctl --user start ferryd", isRetryable: true)
    }
}

extension LogLine {
    var words: String { "\(MomentWords.text(time))  \(level)  \(text.printable)" }
}

extension ControlEvent {
    /// The event as one line; nil if it is not worth one.
    fileprivate var words: String? {
        switch kind {
        case .log: return (try? LogLine(json: data))?.words
        case .task:
            let title = data["title"]?.stringValue?.printable ?? ""
            if data["deleted"]?.booleanValue == true { return "task      \(title)  is gone" }
            let sync = data["sync"]?.stringValue ?? ""
            return "task      \(title)  \(sync.printable)"
        case .transfer:
            guard let transfer = try? TransferSummary(json: data), transfer.isOver else { return nil }
            return "transfer  \(transfer.name.printable)  \(transfer.state.rawValue)"
        case .conflict:
            guard let conflict = try? ConflictSummary(json: data) else { return nil }
            return
                "conflict  \(conflict.title.printable)  \(conflict.label.printable): \(conflict.explanation.printable)"
        case .delete:
            guard let held = try? HeldDelete(json: data) else { return nil }
            let what = held.isRevert ? "its older version" : "its delete"
            return "held      \(held.title.printable)  \(what) waits: ferry deletes"
        case .invitation:
            guard let invitation = try? InvitationSummary(json: data), !invitation.isSent else { return nil }
            return "invited   \(invitation.list.printable)  from \(invitation.from.printable): ferry invitations"
        case .status, .unknown: return nil
        }
    }
}
