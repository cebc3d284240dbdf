import CommandLineTool
import Control

extension Command {
    static let lists = Command.daemon(
        "lists", group: "Tasks", summary: "shows the lists with their numbers of tasks", options: [.json]
    ) { context in
        let lists = try await context.service.lists()
        if context.wantsJSON {
            context.print(document: ("lists", lists.json))
            return .success
        }
        var table = Table(flexible: [0], droppable: [2])
        for list in lists {
            table.add([
                list.name.isEmpty ? "Inbox" : list.name.printable, "\(list.openCount) open", "\(list.taskCount) in all",
                list.sharingWords,
            ])
        }
        for line in table.lines(context.terminal.format, style: { $1 }) { context.terminal.print(line) }
        return .success
    }
}
