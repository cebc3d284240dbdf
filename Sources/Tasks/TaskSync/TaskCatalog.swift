import DocumentClient
package import DocumentModel
package import TaskModel

/// What lists and look-ups need of every task, in memory: `ferry list` must not decode 10,000 documents.
package struct TaskCatalog: Sendable {
    package struct Entry: Sendable, Hashable {
        package var id: String
        package var title: String
        package var isCompleted: Bool
        package var priority: Priority?
        package var due: Due?
        package var tags: [String]
        package var list: String?
        package var attachmentCount: Int
        /// The items of the checklists in the notes; nil if there are none.
        package var checklist: ChecklistCount?
        /// nil while the task lives; an absent time within means that the remote has not ordered the delete yet.
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

    /// Keeps an entry outside of the table, whose free places would be as large: of a hundred
    /// thousand there are as many more. Thousands of them are sorted and handed on without being
    /// copied.
    package final class Box: Sendable {
        package let entry: Entry

        package init(_ entry: Entry) { self.entry = entry }
    }

    private var boxes: [String: Box] = [:]
    /// The moments of the tasks that remind their users, by id.
    package private(set) var reminders: [String: TaskReminders] = [:]
    /// A number that is different whenever `reminders` has changed.
    package private(set) var remindersVersion: UInt64 = 0
    /// The names of the lists, by id.
    package private(set) var listNames: [String: String] = [:]
    /// Who uses the lists that have several users, by id.
    package private(set) var sharing: [String: ListSharing] = [:]
    /// How many tasks are not in the trash, of those how many are to be done, and how many are in
    /// the trash: kept, because they are asked for at every change.
    package private(set) var count = 0
    package private(set) var openCount = 0
    package var trashedCount: Int { boxes.count - count }
    /// How many tasks of each list are not in the trash.
    private var counts: [String: Int] = [:]

    /// Tasks that are not in the trash.
    package var living: some Sequence<Entry> { all.filter { $0.deletion == nil } }

    package var livingBoxes: some Sequence<Box> { boxes.values.lazy.filter { $0.entry.deletion == nil } }

    package var trashed: [Entry] { all.filter { $0.deletion != nil } }

    private var all: LazyMapSequence<Dictionary<String, Box>.Values, Entry> { boxes.values.lazy.map(\.entry) }

    /// Whether a list has tasks that are not in the trash: asked for at every change of a list.
    func hasLiving(inList list: String) -> Bool { counts[list] != nil }

    /// The tasks of a list, also those in the trash.
    func tasks(ofList list: String) -> [String] { all.filter { $0.list == list }.map(\.id) }

    package subscript(id: String) -> Entry? { boxes[id]?.entry }

    mutating func update(_ facts: TaskIndexEntry) {
        guard let entry = facts.entry else { return remove(task: facts.id) }
        setReminders(facts.reminders, of: entry.id)
        if let old = boxes.updateValue(Box(entry), forKey: entry.id) { tally(old.entry, -1) }
        tally(entry, 1)
    }

    mutating func remove(task id: String) {
        setReminders(nil, of: id)
        if let old = boxes.removeValue(forKey: id) { tally(old.entry, -1) }
    }

    private mutating func setReminders(_ new: TaskReminders?, of task: String) {
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
        listNames[view.name.id] = view.exists ? TaskList(fields: view.fields).name : nil
        let users = ListSharing(fields: view.fields)
        sharing[view.name.id] = view.exists && !users.members.isEmpty ? users : nil
    }
}
