import DocumentModel
import YAML

extension TaskItem {
    /// Gives a custom field a text, quoted in the file as YAML needs; an empty text removes the field.
    ///
    /// A text that is exactly how Ferry writes a number or a truth value (`3`, `0.5`, `true`) becomes one, and stands in the file
    /// without quotes. Every other text stays a string: `00501`, `#f00`, `null`. A known key takes the value that a file would
    /// give it, and is a custom field only where the text is not understood.
    /// - Throws: `unusableKey` for a name that no file can hold.
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

    /// Gives fields the values that they have as YAML source, which follows `key:` in a file; an empty source removes a field.
    ///
    /// - Throws: what is wrong with a source that is not one value.
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
            case nil: break
            }
        }
    }
}

extension CustomValue {
    /// The value that a typed text stands for, as `TaskItem.setField` says.
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
