import DocumentClient
package import DocumentModel
package import TaskModel

/// The data of every task that lists and queries need, in memory, so that `ferry list` does not
/// decode 10,000 documents.
package struct TaskCatalog: Sendable {
    package struct Entry: Sendable, Hashable {
        package var id: TaskID
        package var title: String
        package var isCompleted: Bool
        package var priority: Priority?
        package var due: Due?
        /// The name of the time zone of a due time without an offset; nil for the reader's.
        package var zone: String?
        package var tags: [String]
        package var list: ListID?
        package var attachmentCount: Int
        /// The items of the checklists in the notes; nil if there are none.
        package var checklist: ChecklistCount?
        /// The delete of a task in the trash; nil if it is not there. Its time is absent until the
        /// server has committed it.
        package var deletion: Deletion?
        package var isPending: Bool
        package var isParked: Bool
    }

    /// The progress of the checklists in the notes.
    package struct ChecklistCount: Sendable, Hashable {
        package var doneCount: UInt32
        package var count: UInt32
    }

    package struct Deletion: Sendable, Hashable {
        package var time: Timestamp?
    }

    /// Holds an entry outside of the table, whose unused places would otherwise be as large as the
    /// used ones. Thousands of boxes are sorted and passed on without copies of the entries.
    package final class Box: Sendable {
        package let entry: Entry

        package init(_ entry: Entry) { self.entry = entry }
    }

    private var boxes: [TaskID: Box] = [:]
    /// The moments of the tasks that remind their users, by id.
    package private(set) var reminders: [TaskID: TaskReminders] = [:]
    /// A number that is different whenever `reminders` has changed.
    package private(set) var remindersVersion: UInt64 = 0
    /// The names of the lists, by id.
    package private(set) var listNames: [ListID: String] = [:]
    /// The users of shared lists, by list.
    package private(set) var sharing: [ListID: ListSharing] = [:]
    /// The number of tasks that are not in the trash, the number of those that are open, and the
    /// number of tasks in the trash. They are kept up to date because every change asks for them.
    package private(set) var count = 0
    package private(set) var openCount = 0
    package var trashedCount: Int { boxes.count - count }
    /// The number of tasks that are not in the trash, by list.
    private var counts: [ListID: Int] = [:]

    /// The tasks that are not in the trash.
    package var living: some Sequence<Entry> { all.filter { $0.deletion == nil } }

    package var livingBoxes: some Sequence<Box> { boxes.values.lazy.filter { $0.entry.deletion == nil } }

    package var trashed: [Entry] { all.filter { $0.deletion != nil } }

    private var all: LazyMapSequence<Dictionary<TaskID, Box>.Values, Entry> { boxes.values.lazy.map(\.entry) }

    /// Whether a list has tasks that are not in the trash. Every change of a list asks for it.
    func hasLiving(inList list: ListID) -> Bool { counts[list] != nil }

    /// Returns the tasks of a list, including those in the trash.
    func tasks(ofList list: ListID) -> [TaskID] { all.filter { $0.list == list }.map(\.id) }

    package subscript(id: TaskID) -> Entry? { boxes[id]?.entry }

    mutating func update(_ facts: TaskIndexEntry) {
        guard let entry = facts.entry else { return remove(task: facts.id) }
        setReminders(facts.reminders, of: entry.id)
        if let old = boxes.updateValue(Box(entry), forKey: entry.id) { tally(old.entry, -1) }
        tally(entry, 1)
    }

    mutating func remove(task id: TaskID) {
        setReminders(nil, of: id)
        if let old = boxes.removeValue(forKey: id) { tally(old.entry, -1) }
    }

    private mutating func setReminders(_ new: TaskReminders?, of task: TaskID) {
        guard reminders[task] != new else { return }
        reminders[task] = new
        remindersVersion &+= 1
    }

    private mutating func tally(_ entry: Entry, _ change: Int) {
        guard entry.deletion == nil else { return }
        count += change
        if !entry.isCompleted { openCount += change }
        guard let list = entry.list else { return }
        let left = counts[list, default: 0] + change
        counts[list] = left > 0 ? left : nil
    }

    mutating func update(list view: DocumentSnapshot) {
        listNames[view.name.list] = view.exists ? TaskList(fields: view.fields).name : nil
        let users = ListSharing(fields: view.fields)
        sharing[view.name.list] = view.exists && !users.members.isEmpty ? users : nil
    }
}
