import Control

/// Replaces private data in a text: titles, file names, the e-mail address, and the home directory.
struct Redaction {
    /// The texts to replace with their replacements, longest first.
    private var replacements: [(text: String, by: String)] = []

    /// Collects the texts to replace.
    ///
    /// - Parameter home: The absolute path of the home directory.
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
        // A problem names a file that is not a task yet.
        for problem in status.problems {
            if let subject = problem.subject, known[subject] == nil { known[subject] = "<file>" }
        }
        if let email = status.account?.email { known[email] = "<e-mail>" }
        known[status.tasksDirectory] = "<tasks>"
        if let home, home.count > 1 { known[home] = "~" }
        // A text of one letter would match everywhere.
        replacements = known.filter { $0.key.count > 1 }.map { ($0.key, $0.value) }
            .sorted { ($0.text.utf8.count, $0.text) > ($1.text.utf8.count, $1.text) }
    }

    func applied(to text: String) -> String {
        replacements.reduce(text) { text, pair in
            text.contains(pair.text) ? text.replacing(pair.text, with: pair.by) : text
        }
    }
}
