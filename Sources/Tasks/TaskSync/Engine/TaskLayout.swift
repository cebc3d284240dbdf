import DocumentModel
import TaskModel

/// How a task's file looks, beside what it says: comments, the order of keys and quotes travel, and so does a name that is not the
/// title, so that every machine's file has the same bytes under the same name. What a task says stands in the other fields, and
/// wins where the two differ.
enum TaskLayout {
    /// The file's head as it was last saved.
    static let head = "layout"
    /// The file's name without `.md`, where the front matter has the title.
    static let fileName = "fileName"

    static let fields = [head, fileName]

    static func fields(of file: TaskFile, named name: String) -> [String: Value] {
        var fields: [String: Value] = [:]
        if !file.head.isEmpty { fields[head] = String(validating: file.head, as: UTF8.self).map { .string($0) } }
        if file.hasTitleKey { fields[fileName] = .string(TaskFileName.title(of: name)) }
        return fields
    }

    /// The file that says `item` in the layout of its document; nil where there is none, or none that can be used.
    static func file(
        for item: TaskItem, _ fields: [String: Value], named name: String, writesTitle: Bool
    ) -> TaskFile? {
        guard let head = fields[head]?.stringValue,
            let source = try? TaskFile(parsing: Array(head.utf8) + Array(item.notes.utf8), named: name)
        else { return nil }
        return try? source.updated(to: item, writesTitle: writesTitle)
    }

    /// A file's name for the document, and whether the file must have a title of its own.
    static func name(
        of item: TaskItem, _ fields: [String: Value], isTaken: (String) -> Bool
    ) -> (name: String, writesTitle: Bool) {
        let chosen = fields[fileName]?.stringValue
        let name = TaskFileName.file(for: chosen ?? item.title, isTaken: isTaken)
        return (name.name, !name.carriesTitle || chosen.map { !$0.utf8.elementsEqual(item.title.utf8) } ?? false)
    }
}
