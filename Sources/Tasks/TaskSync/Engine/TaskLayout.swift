import DocumentModel
import TaskModel

/// The layout of a task's file: comments, the order of keys, and quotes. It is synced, as is a file
/// name that differs from the title, so that every machine's file has the same bytes and the same
/// name. The task's values are in the other fields, which override the layout.
enum TaskLayout {
    /// The front matter as it was last saved; empty if it was removed.
    static let head = "layout"
    /// The file's name without `.md`, if the front matter contains the title.
    static let fileName = "fileName"

    static let fields = [head, fileName]

    static func fields(of file: TaskFile, named name: String) -> [String: Value] {
        var fields: [String: Value] = [:]
        fields[head] = String(validating: file.head, as: UTF8.self).map { .string($0) }
        if file.hasTitleKey { fields[fileName] = .string(TaskFileName.title(of: name)) }
        return fields
    }

    /// Returns a file with the title that its new name states, if the user has renamed it and Ferry had
    /// only written the title into it because its former name was numbered.
    ///
    /// - Parameters:
    ///   - former: The file when it was last in step.
    ///   - document: The fields of its document.
    static func titled(_ file: TaskFile, after former: TaskFile, _ document: [String: Value]) -> TaskFile {
        let title = former.item.title
        guard file.hasTitleKey, former.hasTitleKey, fileName(of: document) == nil,
            file.item.title.utf8.elementsEqual(title.utf8),
            TaskFileName.isMade(former.name, of: title), !TaskFileName.isMade(file.name, of: title)
        else { return file }
        var item = file.item
        item.title = TaskFileName.title(of: file.name)
        return (try? file.updated(to: item, keepsTitle: false)) ?? file
    }

    /// Returns the changed fields of `TaskLayout`; nil removes one.
    static func changes(from old: [String: Value], to new: [String: Value]) -> [(String, Value?)] {
        fields.filter { old[$0] != new[$0] }.map { ($0, new[$0]) }
    }

    /// Returns the title from which the file's name follows, before other tasks with the same name
    /// are considered.
    static func title(of item: TaskItem, _ fields: [String: Value]) -> String {
        fileName(of: fields) ?? item.title
    }

    /// Returns the name that a user chose for the file, without `.md`; nil if it follows from the
    /// title.
    static func fileName(of fields: [String: Value]) -> String? { fields[fileName]?.stringValue }

    /// Returns the file that Ferry itself would write for `item`; nil if its document has a layout.
    static func plainFile(
        for item: TaskItem, _ fields: [String: Value], named name: String
    ) throws(TaskFileProblem) -> TaskFile? {
        guard fields[head]?.stringValue == nil else { return nil }
        return try TaskFile.make(for: item, named: name, writesTitle: writesTitle(item, fields, named: name))
    }

    private static func writesTitle(_ item: TaskItem, _ fields: [String: Value], named name: String) -> Bool {
        let isTitle = TaskFileName.title(of: name).utf8.elementsEqual(item.title.utf8)
        return !isTitle || fileName(of: fields).map { !$0.utf8.elementsEqual(item.title.utf8) } ?? false
    }

    /// Returns the file with this name for `item`, in the layout of its document or else in that of
    /// `old`.
    ///
    /// - Parameter made: The result of `plainFile`, if it is known.
    static func file(
        for item: TaskItem, _ fields: [String: Value], named name: String, instead old: TaskFile?,
        made: TaskFile? = nil
    ) throws(TaskFileProblem) -> TaskFile {
        let chosen = fileName(of: fields)
        let writesTitle = Self.writesTitle(item, fields, named: name)
        // A title that was only written because of a numbered name is removed with it.
        let keepsTitle = chosen != nil
        if let head = fields[head]?.stringValue {
            for isMended in [false, true] {
                let bytes = Array((isMended ? withoutRepeatedKeys(head) : head).utf8) + Array(item.notes.utf8)
                // Usually this is the file that is here, which was parsed already.
                let isOld = old.map { $0.bytes == bytes && $0.name.utf8.elementsEqual(name.utf8) } ?? false
                if let source = isOld ? old : try? TaskFile(parsing: bytes, named: name),
                    let file = try? source.updated(to: item, writesTitle: writesTitle, keepsTitle: keepsTitle)
                {
                    return file
                }
            }
            // The layout of the local file is not used, because it differs between machines.
            return try TaskFile.make(for: item, named: name, writesTitle: writesTitle)
        }
        guard let old, !isPlain(old, name) else {
            if let made { return made }
            return try TaskFile.make(for: item, named: name, writesTitle: writesTitle)
        }
        return try old.updated(to: item, named: name, writesTitle: writesTitle, keepsTitle: keepsTitle)
    }

    /// Whether a file contains only what Ferry itself would write, in any order of keys. Such a
    /// layout differs between machines and is not synced.
    private static func isPlain(_ file: TaskFile, _ name: String) -> Bool {
        guard let made = try? TaskFile.make(for: file.item, named: name, writesTitle: file.hasTitleKey),
            made.bytes.dropFirst(made.head.count) == file.bytes.dropFirst(file.head.count)
        else { return false }
        func lines(_ file: TaskFile) -> [ArraySlice<UInt8>] {
            file.head.split(separator: UInt8(ascii: "\n")).sorted { $0.lexicographicallyPrecedes($1) }
        }
        return lines(made) == lines(file)
    }

    /// Removes repeated keys: front matter of two machines that was merged by lines may have a key
    /// twice, which is invalid. The last one stays.
    private static func withoutRepeatedKeys(_ head: String) -> String {
        var entries: [(key: Substring?, lines: [Substring])] = []
        // The text is split by scalars, because "\r\n" is one character and different from "\n".
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

extension TaskFileName {
    /// Whether Ferry would give this name to a file with this title, with or without a number.
    static func isMade(_ name: String, of title: String) -> Bool {
        (1...9).contains { file(for: title, number: $0).name.utf8.elementsEqual(name.utf8) }
    }
}
