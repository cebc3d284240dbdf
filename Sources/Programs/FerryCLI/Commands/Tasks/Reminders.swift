import CivilTime
import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let reminders = Command.daemon(
        "reminders", group: "Tasks", summary: "shows the reminders that are due or come next on this machine",
        discussion: """
            A task with a due time reminds at that time; remind:WHEN of 'ferry set' and 'ferry add' chooses other times. ferryd
            shows them on the desktop. A reminder that is due while there is none waits for one.
            """,
        options: [.json]
    ) { context in
        let listing = try await context.service.reminders()
        if context.wantsJSON {
            context.terminal.print(listing.json.text)
            return .success
        }
        context.show(
            rows: listing.reminders.map { reminder in
                [
                    String(reminder.taskID.prefix(8)), MomentWords.text(reminder.time), reminder.words,
                    reminder.title.printable, (reminder.note ?? "").printable,
                ]
            }, flexible: [3, 4], droppable: [4, 0])
        if !listing.isEnabled {
            context.terminal.note("This machine shows no reminders: the setting reminders is off.")
        } else if !listing.hasDesktop, listing.reminders.contains(where: { $0.state == .waiting }) {
            context.terminal.note("There is no desktop here that shows notices. The reminders wait for one.")
        } else if listing.reminders.isEmpty, context.terminal.isInteractive {
            context.terminal.note("There are no reminders.")
        }
        return .success
    }

    static let snooze = Command.daemon(
        "snooze", group: "Tasks", summary: "shows the reminders of a task later, on all machines",
        discussion: """
            WHEN is a time from now such as 10m, 1h or 2d (m is a minute), a day, which means 9:00, or a day and a time such
            as 'fri 17:00'; by default 10m. 'none' ends the snooze. A snooze ends when the task is completed or its date
            changes.

                ferry snooze anna +1h
            """,
        arguments: [.task(completing: "tasks"), Argument("WHEN", .optional, summary: "the time")], options: [.json]
    ) { context in
        let word = context.arguments.argument("WHEN") ?? "10m"
        let now = Environment.system.wallClock() / 1000
        guard let time = ReminderWords(due: context.due).snooze(word, now: now) else {
            throw UsageError("'\(word)' is not a time such as 10m, 1h, tomorrow or 'fri 17:00'.", path: ["snooze"])
        }
        var change = TaskChange()
        change.snooze = time
        change.today = context.due.today.description
        return try await context.change(change)
    }
}

extension ReminderSummary {
    /// The state in words.
    fileprivate var words: String {
        switch state {
        case .next: isSnoozed ? "snoozed" : "next"
        case .waiting: "waits"
        case .shown: "shown"
        case .unknown: ""
        }
    }
}
