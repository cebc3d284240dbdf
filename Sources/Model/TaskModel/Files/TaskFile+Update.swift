import DocumentModel
import YAML

extension TaskFile {
    /// Creates a file for a task that has none yet.
    ///
    /// - Parameter writesTitle: whether the front matter must contain the title because the name
    ///   cannot represent it (see `TaskFileName.carriesTitle`).
    /// - Throws: `tooLarge` or `overLimit` if a file cannot hold the task.
    public static func make(
        for item: TaskItem, named name: String, writesTitle: Bool
    ) throws(TaskFileProblem) -> TaskFile {
        try TaskFile(parsing: [], named: name).updated(to: item, named: name, writesTitle: writesTitle)
    }

    /// Returns the file changed to represent `item`. Only the bytes of changed keys are replaced.
    ///
    /// Keys without a value lose their lines, new keys are added at the end, and front matter is
    /// created if there is none. Values of types that YAML lacks are approximated: compare later
    /// reads with the `item` of the result, not with the argument.
    ///
    /// - Parameters:
    ///   - name: the file's new name; nil if it keeps its name.
    ///   - writesTitle: whether the front matter must contain a `title` even if it has none now.
    ///   - keepsTitle: whether an existing `title` is kept and updated although the file's name
    ///     represents the title.
    /// - Throws: `tooLarge` or `overLimit` if a file cannot hold the task; `cannotEdit` if the
    ///   result could not be parsed back.
    public func updated(
        to item: TaskItem, named name: String? = nil, writesTitle: Bool = false, keepsTitle: Bool = true
    ) throws(TaskFileProblem) -> TaskFile {
        let name = name ?? self.name
        var wanted = FrontMatterContent(item, title: hasTitleKey && keepsTitle || writesTitle ? item.title : nil)
        let texts = wanted.makeWritable(keeping: content.fields)
        guard wanted == content || !isFlow else {
            return try withoutBraces().updated(
                to: item, named: name, writesTitle: writesTitle, keepsTitle: keepsTitle)
        }
        let notes = item.notes.asNotes
        let changed = keys(of: wanted).filter { differs($0, wanted) }
        if changed.isEmpty, notes.isIdentical(to: self.item.notes), name.isIdentical(to: self.name) { return self }
        do throws(TaskFileProblem) {
            return try changing(changed, to: wanted, texts, notes, named: name)
        } catch {
            // The change removes what a reference refers to, or a key that a merge key adds.
            guard hasReferences else { throw error }
            return try withoutReferences().updated(
                to: item, named: name, writesTitle: writesTitle, keepsTitle: keepsTitle)
        }
    }

    /// Returns the file with the given keys, and the notes, changed as wanted.
    private func changing(
        _ changed: [String], to wanted: FrontMatterContent, _ texts: [String: String], _ notes: String,
        named name: String
    ) throws(TaskFileProblem) -> TaskFile {
        var atOnce: TaskFile?
        do throws(TaskFileProblem) {
            atOnce = try applying(changed, of: wanted, texts, notes, named: name)
        } catch {
            // The same text would be as long if its keys were added one after the other.
            if error.code == .tooLarge || error.code == .overLimit { throw error }
        }
        let result: TaskFile
        if let atOnce, atOnce.represents(wanted, notes) {
            result = atOnce
        } else {
            // Edits of adjacent keys can interfere with one another (blank lines after `|+`).
            // Applied one after the other they cannot.
            var file = self
            for key in changed { file = try file.applying([key], of: wanted, texts, file.item.notes, named: name) }
            result = try file.applying([], of: wanted, texts, notes, named: name)
        }
        guard result.represents(wanted, notes) else {
            throw TaskFileProblem(
                .cannotEdit,
                "a change from elsewhere does not fit into this front matter; write it as plain lines of \"key: value\""
            )
        }
        return result
    }

    private func represents(_ wanted: FrontMatterContent, _ notes: String) -> Bool {
        content == wanted && item.notes.isIdentical(to: notes)
    }

    /// Returns the file after edits of the given keys and of the notes, which may interfere with one
    /// another.
    private func applying(
        _ keys: [String], of wanted: FrontMatterContent, _ texts: [String: String], _ notes: String, named name: String
    ) throws(TaskFileProblem) -> TaskFile {
        // The front matter of a new file uses the line ending of the notes.
        let lineEnding = TaskFileLayout.lineEnding(bytes.isEmpty ? Array(notes.utf8) : bytes)
        var editor = FrontMatterEditor(
            bytes, pairs: pairs, lineEnding: lineEnding, indent: Self.indent(pairs, bytes))
        for key in keys { edit(key, to: wanted, texts[key], with: &editor) }
        var edits = editor.edits
        let opens =
            layout.frontMatter == nil && (!editor.appended.isEmpty || TaskFileLayout.isMistakable(notes))
        if opens {
            edits.insert("---\(lineEnding)\(editor.appended)---\(lineEnding)", at: layout.start)
        } else if let frontMatter = layout.frontMatter {
            edits.insert(editor.appended, at: frontMatter.upperBound)
        }
        if !notes.isIdentical(to: item.notes) {
            if layout.isClosingLineOpen { edits.insert(lineEnding, at: layout.body.lowerBound) }
            edits.replace(layout.body, with: Array(notes.utf8))
        }
        let result = try TaskFile(parsing: edits.apply(to: bytes), named: name)
        return try keys.isEmpty ? result : result.withoutEmptyHead(from: self)
    }

    /// Returns the file without its two `---` lines if an edit has left nothing between them.
    private func withoutEmptyHead(from old: TaskFile) throws(TaskFileProblem) -> TaskFile {
        guard let frontMatter = layout.frontMatter, frontMatter.isEmpty, old.layout.frontMatter?.isEmpty == false,
            !TaskFileLayout.isMistakable(item.notes)
        else { return self }
        return try TaskFile(parsing: Array(bytes[..<layout.start] + bytes[layout.body]), named: name)
    }

    private func differs(_ key: String, _ wanted: FrontMatterContent) -> Bool {
        let isSame = TaskKey(rawValue: key).map { content.represents($0, like: wanted) } ?? true
        return !isSame || content.fields[key] != wanted.fields[key]
    }

    /// Returns all keys that exist or will exist, known keys first.
    private func keys(of wanted: FrontMatterContent) -> [String] {
        let known = TaskKey.allCases.map(\.rawValue)
        let custom = Set(content.fields.keys).union(wanted.fields.keys).subtracting(known)
        return known + custom.sorted()
    }

    private func edit(
        _ key: String, to wanted: FrontMatterContent, _ customText: String?, with editor: inout FrontMatterEditor
    ) {
        let known = TaskKey(rawValue: key)
        let pair = pairs.first { $0.key.scalar?.text.isIdentical(to: key) == true }
        if let entries = known.flatMap({ listEntries($0, wanted) }), !entries.isEmpty, let pair {
            let list = TagListEditor(bytes: bytes, old: Self.list(of: pair), hasDates: known != .tags)
            if let edits = list.edits(to: entries, with: editor) {
                edits.forEach { editor.replace($0.range, with: $0.text) }
                return
            }
        }
        guard let text = known.flatMap({ typedText($0, wanted, pair) }) ?? customText else {
            if let pair { editor.remove(pair) }
            return
        }
        if let pair { editor.set(pair, to: text) } else { editor.append(key, text) }
    }

    /// Returns the text of a known key in the quoting style of the old value; nil if it has no
    /// value.
    private func typedText(_ key: TaskKey, _ wanted: FrontMatterContent, _ pair: YAMLPair?) -> String? {
        let style = pair?.value.scalar?.style ?? .plain
        switch key {
        case .title: return wanted.title.map { YAMLScalarWriter().write($0, like: style) }
        case .priority: return wanted.priority.map { YAMLScalarWriter().write($0.word, like: style) }
        case .due: return wanted.due.map { YAMLScalarWriter(readers: .coreSchema).write($0.text, like: style) }
        case .completed: return wanted.completed ? "true" : nil
        case .tags, .completeInstances, .skippedInstances:
            guard let entries = listEntries(key, wanted), !entries.isEmpty else { return nil }
            return TagListEditor(bytes: bytes, old: Self.list(of: pair), hasDates: key != .tags).text(of: entries)
        }
    }

    /// Returns the entries of a key whose value is a list; nil for another key.
    private func listEntries(_ key: TaskKey, _ wanted: FrontMatterContent) -> [String]? {
        switch key {
        case .tags: wanted.tags
        case .completeInstances: wanted.entries(.done)
        case .skippedInstances: wanted.entries(.skipped)
        default: nil
        }
    }

    /// Returns the value of a pair unless it is a reference, whose entries are those of another key.
    private static func list(of pair: YAMLPair?) -> YAMLNode? {
        pair.flatMap { $0.value.target == nil ? $0.value : nil }
    }

    /// Whether the value of a key refers to another key.
    private var hasReferences: Bool { pairs.contains { $0.value.refers(outOf: $0.value.span) } }

    /// Returns the file with the values to which keys refer in place of the references, and with the
    /// keys that merge keys add in place of the merge keys.
    private func withoutReferences() throws(TaskFileProblem) -> TaskFile {
        var plain = content
        let texts = plain.makeWritable(keeping: [:])
        var editor = FrontMatterEditor(
            bytes, pairs: pairs, lineEnding: TaskFileLayout.lineEnding(bytes), indent: Self.indent(pairs, bytes))
        for pair in pairs where pair.value.refers(outOf: pair.value.span) {
            guard let key = pair.key.scalar?.text, !MergeKey.isMerge(pair),
                let text = TaskKey(rawValue: key).flatMap({ typedText($0, plain, nil) }) ?? texts[key]
            else {
                editor.remove(pair)
                continue
            }
            editor.set(pair, to: text)
        }
        for pair in MergeKey.added(by: pairs) {
            guard let key = pair.key.scalar?.text,
                let text = TaskKey(rawValue: key).flatMap({ typedText($0, plain, nil) }) ?? texts[key]
            else { continue }
            editor.append(key, text)
        }
        var edits = editor.edits
        if let frontMatter = layout.frontMatter { edits.insert(editor.appended, at: frontMatter.upperBound) }
        let result = try TaskFile(parsing: edits.apply(to: bytes), named: name)
        guard !result.hasReferences else {
            throw TaskFileProblem(
                .cannotEdit, "a change from elsewhere does not fit to the references (*name); write the values out")
        }
        return result
    }

    /// Returns the file with front matter in braces rewritten as lines. Braces have no separate
    /// lines that could be replaced.
    private func withoutBraces() throws(TaskFileProblem) -> TaskFile {
        var plain = content
        let texts = plain.makeWritable(keeping: [:])
        let lineEnding = TaskFileLayout.lineEnding(bytes)
        var editor = FrontMatterEditor(bytes, pairs: pairs, lineEnding: lineEnding, indent: 0)
        for key in keys(of: plain) {
            guard let text = TaskKey(rawValue: key).flatMap({ typedText($0, plain, nil) }) ?? texts[key] else {
                continue
            }
            editor.append(key, text)
        }
        var edits = ByteEdits()
        if let frontMatter = layout.frontMatter { edits.replace(frontMatter, with: editor.appended) }
        return try TaskFile(parsing: edits.apply(to: bytes), named: name)
    }
}

extension FrontMatterContent {
    /// Replaces values by those that a file can represent. Returns the texts of custom fields by
    /// key, except fields that the file already has.
    fileprivate mutating func makeWritable(keeping current: [String: Value]) -> [String: String] {
        var texts: [String: String] = [:]
        for (key, value) in fields {
            let isHidden = TaskKey(rawValue: key).map { represents($0) } ?? false
            if !isHidden, current[key] == value { continue }
            fields[key] = nil
            if isHidden { continue }
            guard let written = CustomValue.written(value, as: key), let back = written.value else { continue }
            fields[key] = back
            texts[key] = written.text
        }
        return texts
    }

    private func represents(_ key: TaskKey) -> Bool { !represents(key, like: FrontMatterContent()) }

    fileprivate func represents(_ key: TaskKey, like other: FrontMatterContent) -> Bool {
        switch key {
        case .title:
            (title == nil) == (other.title == nil) && (title ?? "").isIdentical(to: other.title ?? "")
        case .priority: priority == other.priority
        case .due: due == other.due
        case .tags: tags.elementsEqual(other.tags) { $0.isIdentical(to: $1) }
        case .completed: completed == other.completed
        case .completeInstances: entries(.done) == other.entries(.done)
        case .skippedInstances: entries(.skipped) == other.entries(.skipped)
        }
    }
}
