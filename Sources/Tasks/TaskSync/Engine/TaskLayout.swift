import DocumentModel
import TaskModel

/// How a task's file looks, beside what it says: comments, the order of keys and quotes travel, and
/// so does a name that is not the title, so that every machine's file has the same bytes under the
/// same name. What a task says stands in the other fields, and wins where the two differ.
enum TaskLayout {
    /// The file's head as it was last saved; empty where it was taken away.
    static let head = "layout"
    /// The file's name without `.md`, where the front matter has the title.
    static let fileName = "fileName"

    static let fields = [head, fileName]

    static func fields(of file: TaskFile, named name: String) -> [String: Value] {
        var fields: [String: Value] = [:]
        fields[head] = String(validating: file.head, as: UTF8.self).map { .string($0) }
        if file.hasTitleKey { fields[fileName] = .string(TaskFileName.title(of: name)) }
        return fields
    }

    /// The fields of `TaskLayout` that make `new` of `old`; nil removes one.
    static func changes(from old: [String: Value], to new: [String: Value]) -> [(String, Value?)] {
        fields.filter { old[$0] != new[$0] }.map { ($0, new[$0]) }
    }

    /// What the file is to be called, before others that want the same name are considered.
    static func title(of item: TaskItem, _ fields: [String: Value]) -> String {
        fileName(of: fields) ?? item.title
    }

    /// The name that somebody chose for the file, without `.md`; nil: it is the title's.
    static func fileName(of fields: [String: Value]) -> String? { fields[fileName]?.stringValue }

    /// The file of this name that says `item`: in the layout of its document, or else in that of `old`.
    static func file(
        for item: TaskItem, _ fields: [String: Value], named name: String, instead old: TaskFile?
    ) throws(TaskFileProblem) -> TaskFile {
        let chosen = fileName(of: fields)
        let isTitle = TaskFileName.title(of: name).utf8.elementsEqual(item.title.utf8)
        let writesTitle = !isTitle || chosen.map { !$0.utf8.elementsEqual(item.title.utf8) } ?? false
        // A title that was written for the sake of a number goes with it.
        let keepsTitle = chosen != nil
        if let head = fields[head]?.stringValue {
            for isMended in [false, true] {
                let bytes = Array((isMended ? withoutRepeatedKeys(head) : head).utf8) + Array(item.notes.utf8)
                // Mostly the file that is here, which has been read already.
                let isOld = old.map { $0.bytes == bytes && $0.name.utf8.elementsEqual(name.utf8) } ?? false
                if let source = isOld ? old : try? TaskFile(parsing: bytes, named: name),
                    let file = try? source.updated(to: item, writesTitle: writesTitle, keepsTitle: keepsTitle)
                {
                    return file
                }
            }
            // Not in the layout of the file that is here: that is another one on each machine.
            return try TaskFile.make(for: item, named: name, writesTitle: writesTitle)
        }
        guard let old, !isPlain(old, name) else {
            return try TaskFile.make(for: item, named: name, writesTitle: writesTitle)
        }
        return try old.updated(to: item, named: name, writesTitle: writesTitle, keepsTitle: keepsTitle)
    }

    /// Whether a file has nothing but what Ferry itself would write, in whatever order its keys
    /// came, which is another one on each machine.
    private static func isPlain(_ file: TaskFile, _ name: String) -> Bool {
        guard let made = try? TaskFile.make(for: file.item, named: name, writesTitle: file.hasTitleKey),
            made.bytes.dropFirst(made.head.count) == file.bytes.dropFirst(file.head.count)
        else { return false }
        func lines(_ file: TaskFile) -> [ArraySlice<UInt8>] {
            file.head.split(separator: UInt8(ascii: "\n")).sorted { $0.lexicographicallyPrecedes($1) }
        }
        return lines(made) == lines(file)
    }

    /// Two machines' heads that were merged line by line may have a key twice, and are no front
    /// matter then: the last one stays.
    private static func withoutRepeatedKeys(_ head: String) -> String {
        var entries: [(key: Substring?, lines: [Substring])] = []
        // By scalars: "\r\n" is one character, and no "\n".
        for part in head.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
            let line = Substring(part)
            let isInner = line.hasPrefix(" ") || line.hasPrefix("\t") || line.hasPrefix("- ")
            if isInner, entries.last?.key != nil {
                entries[entries.count - 1].lines.append(line)
            } else {
                entries.append((line.hasPrefix("#") ? nil : line.firstIndex(of: ":").map { line[..<$0] }, [line]))
            }
        }
        let last = Dictionary(entries.indices.map { (entries[$0].key, $0) }) { $1 }
        return entries.indices.filter { entries[$0].key == nil || last[entries[$0].key] == $0 }
            .flatMap { entries[$0].lines }.joined(separator: "\n")
    }
}
