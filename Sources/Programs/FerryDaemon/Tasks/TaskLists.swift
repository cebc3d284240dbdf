import Control
import TaskModel
import TaskSync

/// The lists with their counts.
enum TaskLists {
    /// The displayed name of the default list, which has no name of its own.
    static let inbox = "Inbox"

    /// Returns the lists: the default list first, then by name.
    ///
    /// - Parameter user: The user of this machine.
    static func summaries(of catalog: TaskCatalog, for user: UserID) -> [ListSummary] {
        var summaries: [ListID?: ListSummary] = [
            nil: ListSummary(id: "", name: inbox, openCount: 0, taskCount: 0)
        ]
        for (id, name) in catalog.listNames {
            var summary = ListSummary(id: id.rawValue, name: name, openCount: 0, taskCount: 0)
            if let sharing = catalog.sharing[id] {
                func word(_ user: UserID) -> String { sharing.names[user] ?? user.rawValue }
                summary.owner = sharing.owner.flatMap { $0 == user ? nil : word($0) }
                summary.sharedWith = sharing.members.map(word).sorted()
            }
            summaries[id] = summary
        }
        for task in catalog.living {
            let list = summaries[task.list] == nil ? nil : task.list
            summaries[list]?.taskCount += 1
            if !task.isCompleted { summaries[list]?.openCount += 1 }
        }
        return summaries.values.sorted { left, right in
            if left.id.isEmpty != right.id.isEmpty { return left.id.isEmpty }
            return (left.name.lowercased(), left.id) < (right.name.lowercased(), right.id)
        }
    }
}
