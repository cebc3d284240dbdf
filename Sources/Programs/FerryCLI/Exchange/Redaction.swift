import Control

/// Takes out of a text what somebody wrote: titles, file names, e-mail address, home.
struct Redaction {
    /// What to replace, longest first, and by what.
    private var replacements: [(text: String, by: String)] = []

    /// - Parameter home: absolute.
    init(tasks: [TaskSummary], lists: [ListSummary], status: DaemonStatus, home: String?) {
        var known: [String: String] = [:]
        for list in lists where !list.name.isEmpty && !list.id.isEmpty {
            known[list.name] = "<list \(list.id.prefix(4))>"
        }
        for task in tasks {
            let name = "<task \(task.id.prefix(8))>"
            known[task.title] = name
            if let path = task.path {
                known[path] = name + ".md"
                known[String(path.dropLast(path.hasSuffix(".md") ? 3 : 0))] = name
            }
        }
        // A file that is no task yet is told of by its name.
        for problem in status.problems {
            if let subject = problem.subject, known[subject] == nil { known[subject] = "<file>" }
        }
        if let email = status.account?.email { known[email] = "<e-mail>" }
        known[status.tasksDirectory] = "<tasks>"
        if let home, home.count > 1 { known[home] = "~" }
        // One letter would be found everywhere.
        replacements = known.filter { $0.key.count > 1 }.map { ($0.key, $0.value) }
            .sorted { ($0.text.utf8.count, $0.text) > ($1.text.utf8.count, $1.text) }
    }

    func applied(to text: String) -> String {
        replacements.reduce(text) { text, pair in
            text.contains(pair.text) ? text.replacing(pair.text, with: pair.by) : text
        }
    }
}
