import DocumentModel

/// The values of a task, also in the words and keys of other software. Commands change a value in the
/// form that the task has.
extension TaskItem {
    /// The keys of the day on which other software says that a task was completed.
    private static let completionDateKeys = ["completedDate", "completed"]
    private static let statusKey = "status"

    /// The meaning of the field `status`; nil if there is none, or its word is unknown.
    package func status(in vocabulary: TaskVocabulary) -> TaskVocabulary.Status? {
        word(of: Self.statusKey).flatMap { vocabulary.status($0.text) }
    }

    /// Whether the task is completed or cancelled.
    package func isCompleted(in vocabulary: TaskVocabulary) -> Bool {
        if completed { return true }
        if fields.isEmpty { return false }
        if let status = status(in: vocabulary) { return status != .open }
        // The date of the last completion of a recurring task says nothing about the next one.
        if fields[TaskSeries.ruleKey] != nil { return false }
        return !completionKeys.isEmpty
    }

    /// The keys, as they are written, whose values say that the task was completed.
    private var completionKeys: [String] {
        Self.completionDateKeys.compactMap { key in
            guard let (written, text) = word(of: key).map({ ($0.key, $0.text) }) else { return nil }
            let isTrue = key == TaskKey.completed.rawValue && text.lowercased() == "true"
            return isTrue || TimeText(text) != nil ? written : nil
        }
    }

    /// Completes or reopens the task: with the word of its `status` if it has one that is
    /// understood, otherwise with `completed`.
    package mutating func setCompleted(_ isCompleted: Bool, in vocabulary: TaskVocabulary) {
        guard isCompleted != self.isCompleted(in: vocabulary) else { return }
        if !isCompleted {
            completed = false
            for key in completionKeys { fields[key] = nil }
        }
        if let old = word(of: Self.statusKey), let status = vocabulary.status(old.text) {
            guard (status != .open) != isCompleted else { return }
            if let new = vocabulary.word(for: isCompleted, insteadOf: old.text) { setWord(new, of: old.key) }
        } else {
            completed = isCompleted
        }
    }

    /// The importance.
    package func priority(in vocabulary: TaskVocabulary) -> Priority? {
        if let priority { return priority }
        return word(of: TaskKey.priority.rawValue).flatMap { vocabulary.priority($0.text) ?? nil }
    }

    /// Changes the importance.
    package mutating func setPriority(_ priority: Priority?, in vocabulary: TaskVocabulary) {
        guard priority != self.priority(in: vocabulary) else { return }
        if self.priority == nil, let old = word(of: TaskKey.priority.rawValue), vocabulary.priority(old.text) != nil {
            if let priority, old.key != TaskKey.priority.rawValue { return setWord(priority.word, of: old.key) }
            fields[old.key] = nil
            self.priority = priority
        } else {
            self.priority = priority
        }
    }

    /// The due date or time, also of a key such as `Due`.
    package var anyDue: Due? { due ?? word(of: TaskKey.due.rawValue).flatMap { Due(parsing: $0.text) } }

    /// Changes the due date or time.
    package mutating func setDue(_ new: Due?) {
        if due == nil, let old = word(of: TaskKey.due.rawValue), old.key != TaskKey.due.rawValue,
            Due(parsing: old.text) != nil
        {
            if let new { setWord(new.text, of: old.key) } else { fields[old.key] = nil }
        } else {
            due = new
        }
    }

    /// The tags without a leading `#`, also of a key such as `Tags`.
    package var anyTags: [String] {
        guard !fields.isEmpty || tags.contains(where: { $0.hasPrefix("#") }) else { return tags }
        return (tags + (otherTags?.tags ?? [])).map(Self.bare).withoutRepeats
    }

    /// Replaces all tags.
    package mutating func setTags(_ new: [String]) {
        guard let other = otherTags else { return tags = new }
        tags = []
        fields[other.key] = new.isEmpty ? nil : .array(new.map { .string($0) })
    }

    /// Adds and removes tags. A tag is removed with or without a leading `#`, also from tags that
    /// are one text with spaces.
    package mutating func changeTags(adding added: [String], removing removed: [String]) {
        let gone = Set(removed.map(Self.bare))
        func changed(_ tags: [String], adding added: [String]) -> [String] {
            let kept = tags.flatMap { tag in
                let words = tag.split(separator: " ").map(String.init)
                if gone.contains(Self.bare(tag)) { return [String]() }
                return words.contains { gone.contains(Self.bare($0)) }
                    ? words.filter { !gone.contains(Self.bare($0)) } : [tag]
            }
            return kept + added
        }
        let present = Set(anyTags)
        let new = added.withoutRepeats.filter { !present.contains(Self.bare($0)) }
        if let other = otherTags {
            let inOther = tags.isEmpty
            let result = changed(other.tags, adding: inOther ? new : [])
            if result != other.tags { fields[other.key] = result.isEmpty ? nil : .array(result.map { .string($0) }) }
            tags = changed(tags, adding: inOther ? [] : new)
        } else {
            tags = changed(tags, adding: new)
        }
    }

    /// The known keys whose values are neither understood nor words of a vocabulary.
    package func misunderstoodKeys(in vocabulary: TaskVocabulary) -> [String] {
        misunderstoodKeys.filter { key in
            guard let text = fields[key].flatMap(CustomValue.scalarText) else { return true }
            switch key {
            case TaskKey.priority.rawValue: return vocabulary.priority(text) == nil
            case TaskKey.completed.rawValue: return TimeText(text) == nil
            default: return true
            }
        }
    }

    /// The keys such as `Priority` that have no effect: the known key is there, too, or the value is
    /// not understood.
    package func nearKeys(in vocabulary: TaskVocabulary) -> [(key: String, known: String)] {
        nearKeys.filter { key, known in
            guard self.key(named: known) == key else { return true }
            let text = word(of: known)?.text
            switch TaskKey(rawValue: known) {
            case .priority: return priority != nil || text.flatMap { vocabulary.priority($0) } == nil
            case .due: return due != nil || text.flatMap { Due(parsing: $0) } == nil
            case .tags: return otherTags == nil
            case .completed:
                return text.map { TimeText($0) == nil && !["true", "false"].contains($0.lowercased()) } ?? true
            default: return true
            }
        }
    }

    // MARK: Parts

    /// The key of a field whose name is `name` but for its case; the exact name comes first.
    private func key(named name: String) -> String? {
        if fields[name] != nil { return name }
        let count = name.utf8.count
        return fields.keys.filter { $0.utf8.count == count && $0.lowercased() == name.lowercased() }.min()
    }

    /// The text of a field with one scalar, and its key.
    private func word(of name: String) -> (key: String, text: String)? {
        guard let key = key(named: name), let value = fields[key] else { return nil }
        if case .boolean(let flag) = value { return (key, flag ? "true" : "false") }
        return CustomValue.scalarText(value).map { (key, $0) }
    }

    private mutating func setWord(_ text: String, of key: String) {
        fields[key] = CustomValue.text(text, quotedLike: fields[key])
    }

    /// The tags of a key such as `Tags`.
    private var otherTags: (key: String, tags: [String])? {
        let name = TaskKey.tags.rawValue
        guard let key = key(named: name), key != name, let value = fields[key] else { return nil }
        if let text = CustomValue.scalarText(value) {
            return (key, text.split { $0 == "," || $0 == " " }.map(String.init))
        }
        guard let values = CustomValue.interpreted(value)?.arrayValue else { return nil }
        let tags = values.compactMap(\.stringValue)
        return tags.count == values.count ? (key, tags) : nil
    }

    /// Returns a tag without a leading `#`, unless it has nothing else.
    private static func bare(_ tag: String) -> String {
        tag.hasPrefix("#") && tag != "#" ? String(tag.dropFirst()) : tag
    }
}
