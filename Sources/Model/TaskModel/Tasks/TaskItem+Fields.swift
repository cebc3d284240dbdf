import DocumentModel
import YAML

extension TaskItem {
    /// Sets a custom field to the value that a text represents, and removes the field if the text
    /// is empty.
    ///
    /// A text that is the canonical form of a number or Boolean (`3`, `0.5`, `true`) becomes one,
    /// and is unquoted in the file. Every other text stays a string: `00501`, `#f00`, `null`. A
    /// known key is set to the value that a file would give it, and becomes a custom field only if
    /// the text cannot be interpreted.
    ///
    /// - Throws: `unusableKey` for a name that no file can contain.
    package mutating func setField(_ key: String, toText text: String) throws(TaskFileProblem) {
        guard CustomValue.isUsable(key: key), !key.utf8.contains(0) else {
            throw TaskFileProblem(.unusableKey, "'\(key)' cannot be the name of a field")
        }
        if TaskKey(rawValue: key) != nil {
            let source = text.isEmpty ? "" : YAMLScalarWriter(readers: .coreSchema).write(text)
            return try setFields(sources: [key: source])
        }
        fields[key] = text.isEmpty ? nil : CustomValue.value(ofText: text)
    }

    /// Sets fields to values given as YAML source, the text after `key:` in a file. An empty source
    /// removes a field.
    ///
    /// - Throws: the problem of a source that is not a single value.
    package mutating func setFields(sources: [String: String]) throws(TaskFileProblem) {
        let written = sources.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        let lines = written.map { key, source in
            "\(YAMLScalarWriter(.key).write(key)):\(FrontMatterEditor.attached(source))\n"
        }
        let file = try TaskFile(parsing: Array("---\n\(lines.joined())---\n".utf8), named: "")
        guard Set(file.pairs.compactMap { $0.key.scalar?.text }) == Set(written.map(\.key)) else {
            throw TaskFileProblem(.malformedFrontMatter, "a field's value is not one value of YAML")
        }
        for (key, source) in sources {
            fields[key] = file.item.fields[key]
            guard fields[key] == nil || source.isEmpty else { continue }
            switch TaskKey(rawValue: key) {
            case .title?: if let title = file.content.title { self.title = title }
            case .priority?: priority = file.item.priority
            case .due?: due = file.item.due
            case .tags?: tags = file.item.tags
            case .completed?: completed = file.item.completed
            case .completeInstances?: setInstances(.done, to: file.item.instances)
            case .skippedInstances?: setInstances(.skipped, to: file.item.instances)
            case nil: break
            }
        }
    }

    private mutating func setInstances(_ state: TaskInstance.State, to new: [CivilDate: TaskInstance]) {
        instances = instances.filter { $0.value.state != state }
            .merging(new.filter { $0.value.state == state }) { $1 }
    }
}

extension CustomValue {
    /// Returns the value that a typed text represents, as described at `TaskItem.setField`.
    static func value(ofText text: String) -> Value {
        let typed: Value =
            switch YAMLCoreValue(plain: text) {
            case .boolean(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .double(let value): .double(value)
            case .null, .string: .string(text)
            }
        return CustomValueText.text(of: typed).isIdentical(to: text) ? typed : .string(text)
    }
}
