import Control
import TaskModel
import TaskSync

/// A text that a user typed to denote a task: the prefix of its id, its file, or words of its
/// title.
struct TaskReference {
    enum Finding: Equatable {
        case task(TaskID)
        /// Several tasks match. They are in display order, and not all are included if there are
        /// many.
        case candidates([TaskID])
        case nothing
    }

    /// The maximum number of candidates to choose among.
    static let candidateLimit = 20
    private static let shortestPrefix = 2
    /// The length from which a text that is the prefix of an id is unlikely to be a word by
    /// accident.
    private static let clearPrefix = 6

    private let text: String

    init(_ text: String) { self.text = text }

    /// Searches the given tasks.
    func find(in tasks: some Sequence<TaskCatalog.Entry>) -> Finding {
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        guard !words.isEmpty else { return .nothing }
        var byID: [TaskCatalog.Entry] = []
        var byTitle: [TaskCatalog.Entry] = []
        var exact: [TaskCatalog.Entry] = []
        let mayBeID = words.count == 1 && text.utf8.count >= Self.shortestPrefix
        let wholeTitle = words.joined(separator: " ")
        let searched = words.map(SearchWord.init)
        for task in tasks {
            if mayBeID, task.id.rawValue.hasPrefix(text) {
                if task.id.rawValue == text { return .task(task.id) }
                byID.append(task)
            }
            guard searched.allSatisfy({ $0.isIn(task.title) }) else { continue }
            byTitle.append(task)
            if task.title.lowercased() == wholeTitle { exact.append(task) }
        }
        if exact.count == 1 { return .task(exact[0].id) }
        // A whole word of a title takes precedence over a part of one.
        if byTitle.count > 1 {
            let whole = byTitle.filter { task in searched.allSatisfy { $0.isWhole(in: task.title) } }
            if !whole.isEmpty { byTitle = whole }
            byTitle = Self.withoutKeptOccurrences(byTitle)
        }
        if byID.count == 1, byTitle.isEmpty || text.utf8.count >= Self.clearPrefix { return .task(byID[0].id) }
        if byID.isEmpty, byTitle.count == 1 { return .task(byTitle[0].id) }
        let found = exact.isEmpty ? byID + byTitle.filter { !byID.contains($0) } : exact
        if found.isEmpty { return .nothing }
        let sorted = TaskOrder.sorted(found.map(TaskCatalog.Box.init))
        return .candidates(sorted.prefix(Self.candidateLimit).map(\.entry.id))
    }

    /// Returns the recurring task if all others are kept occurrences of it, whose titles are its title and
    /// their day; otherwise all tasks.
    private static func withoutKeptOccurrences(_ tasks: [TaskCatalog.Entry]) -> [TaskCatalog.Entry] {
        guard let series = tasks.min(by: { $0.title.utf8.count < $1.title.utf8.count }) else { return tasks }
        let start = series.title + " "
        let isSeries = tasks.allSatisfy { task in
            task.id == series.id
                || task.title.hasPrefix(start) && CivilDate(String(task.title.dropFirst(start.count))) != nil
        }
        return isSeries ? [series] : tasks
    }

    /// Returns the path below the tasks directory, if the text is such a path. Absolute paths start
    /// with one of `directories`.
    func path(in directories: [String]) -> String? {
        guard text.hasPrefix("/") else { return text.hasPrefix("./") ? String(text.dropFirst(2)) : text }
        guard let directory = directories.first(where: { text.hasPrefix($0 + "/") }) else { return nil }
        return String(text.dropFirst(directory.count + 1))
    }
}
