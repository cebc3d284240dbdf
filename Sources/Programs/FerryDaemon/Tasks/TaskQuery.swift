import CivilTime
import Control
import SystemIO
import TaskModel
import TaskSync

/// A filter that was prepared for testing thousands of tasks.
struct TaskQuery {
    private enum DueTest {
        case any
        case none
        case through(CalendarDay)
        case before(CalendarDay)
        case on(CalendarDay)
    }

    private let words: [SearchWord]
    /// The ids of the requested lists; nil in the set is the default list.
    private let lists: Set<ListID?>?
    private let tags: [String]
    private let isCompleted: Bool?
    private let due: DueTest
    private let priorities: [TaskSummary.Priority]
    private let listNames: [ListID: String]

    /// Prepares a filter.
    ///
    /// - Throws: `ControlError` for a list that does not exist, or an unknown due word.
    init(_ filter: TaskFilter, listNames: [ListID: String]) throws(ControlError) {
        self.listNames = listNames
        words = filter.words.map(SearchWord.init).filter { !$0.isEmpty }
        tags = filter.tags.map { ($0.hasPrefix("#") ? String($0.dropFirst()) : $0).lowercased() }
        isCompleted = filter.isCompleted
        lists = try filter.list.map { name throws(ControlError) in try Self.lists(named: name, in: listNames) }
        due = try Self.due(filter)
        priorities = filter.priorities
    }

    private static func lists(named name: String, in names: [ListID: String]) throws(ControlError) -> Set<ListID?> {
        if name.isEmpty { return [nil] }
        let word = name.lowercased()
        var found = Set<ListID?>(names.filter { $0.value.lowercased() == word }.map(\.key))
        if word == TaskLists.inbox.lowercased() { found.insert(nil) }
        guard found.isEmpty else { return found }
        throw ControlError(.notFound, "There is no list '\(name)'.", hint: "'ferry lists' shows them.")
    }

    private static func due(_ filter: TaskFilter) throws(ControlError) -> DueTest {
        guard let word = filter.due?.lowercased() else { return .any }
        if word == "none" { return .none }
        let today = filter.today.flatMap { CalendarDay($0) } ?? CalendarDay(localAt: Clocks.wallSeconds())
        switch word {
        case "today": return .through(today)
        case "overdue": return .before(today)
        case "week": return .through(today.adding(days: 6))
        default: break
        }
        if let date = CalendarDay(word) { return .on(date) }
        if word.hasPrefix("through:"), let date = CalendarDay(word.dropFirst(8)) { return .through(date) }
        throw ControlError(
            .invalidArgument, "'\(word)' is not a due date.",
            hint: "One of today, week, overdue, none, or a date such as 2026-11-30.")
    }

    func matches(_ task: TaskCatalog.Entry) -> Bool {
        if let isCompleted, task.isCompleted != isCompleted { return false }
        // A task in an unknown list is shown in the default list.
        if let lists, !lists.contains(task.list.flatMap { listNames[$0] == nil ? nil : $0 }) { return false }
        if !priorities.isEmpty, !priorities.contains(TaskSummary.Priority(task.priority)) { return false }
        guard matchesDue(task) else { return false }
        if !tags.isEmpty {
            // Some vaults write several tags as one text: "tags: home garden".
            let own = task.tags.map { $0.lowercased() }
            guard tags.allSatisfy({ tag in own.contains { $0 == tag || $0.split(separator: " ").contains(tag[...]) } })
            else { return false }
        }
        return words.isEmpty || matchesWords(task)
    }

    private func matchesDue(_ task: TaskCatalog.Entry) -> Bool {
        if case .any = due { return true }
        guard let day = task.dueDay else {
            if case .none = due { return true }
            return false
        }
        return switch due {
        case .any: true
        case .none: false
        case .through(let last): day <= last
        case .before(let date): day < date
        case .on(let date): day == date
        }
    }

    private func matchesWords(_ task: TaskCatalog.Entry) -> Bool {
        words.allSatisfy { word in
            word.isIn(task.title) || task.tags.contains(where: word.isIn)
                || (task.list.flatMap { listNames[$0] }.map(word.isIn) ?? false)
        }
    }
}
