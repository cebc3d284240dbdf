package import DocumentModel

extension TaskItem {
    /// The reminders of the front matter in order; nil if the task has no list, so that the default
    /// applies. Elements that are not understood are omitted.
    package var reminders: [Reminder]? {
        guard let value = fields[Reminder.key] else { return nil }
        guard let elements = CustomValue.interpreted(value)?.arrayValue else { return nil }
        return elements.compactMap { Reminder($0) }
    }

    /// Replaces the reminders. Elements of the list with the same time are kept as they are.
    ///
    /// - Parameter reminders: The new reminders; nil removes the list, so that the default applies,
    ///   and an empty list stands for no reminders.
    package mutating func setReminders(_ reminders: [Reminder]?) {
        guard let reminders else {
            fields[Reminder.key] = nil
            return
        }
        let old = fields[Reminder.key].flatMap { CustomValue.interpreted($0)?.arrayValue } ?? []
        let values = reminders.map { reminder in
            old.first { Reminder($0)?.time == reminder.time } ?? reminder.value
        }
        if values != old || fields[Reminder.key] == nil { fields[Reminder.key] = .array(values) }
    }
}

/// The merge of the reminders of two versions of a task.
package enum ReminderMerge {
    /// The path of the list in a document.
    package static let path = FieldPath(key: "fields").appending(Reminder.key)

    /// Merges the lists by the identifiers of their elements, if both sides changed them.
    ///
    /// An element that one side removed and the other changed is kept. If both changed it, that of
    /// `mine` is kept.
    ///
    /// - Returns: The merged list, and whether a change of `theirs` is not part of it; nil if the
    ///   sides do not disagree, or one of them has no list of elements with identifiers.
    package static func merged(
        base: [String: Value]?, mine: [String: Value], theirs: [String: Value]
    ) -> (value: Value, losesTheirs: Bool)? {
        let (b, m, t) = (base.flatMap(list), list(mine), list(theirs))
        guard let m, let t, m != t, m != b, t != b, let base = elements(b ?? .array([])), let mine = elements(m),
            let theirs = elements(t)
        else { return nil }
        var result: [Value] = []
        var losesTheirs = false
        func find(_ id: String, in elements: [(id: String, value: Value)]) -> Value? {
            elements.first { $0.id == id }?.value
        }
        for element in theirs {
            let (before, own) = (find(element.id, in: base), find(element.id, in: mine))
            switch own {
            case nil where before == element.value: break
            case nil: result.append(element.value)
            case let own? where own == element.value || before == own: result.append(element.value)
            case let own?:
                losesTheirs = losesTheirs || before != element.value
                result.append(own)
            }
        }
        for element in mine where find(element.id, in: theirs) == nil && find(element.id, in: base) != element.value {
            result.append(element.value)
        }
        return (.array(result), losesTheirs)
    }

    private static func list(_ fields: [String: Value]) -> Value? {
        fields["fields"]?.mapValue?[Reminder.key].flatMap { CustomValue.interpreted($0) }
    }

    /// Returns the elements with their identifiers; nil if they are not all different reminders.
    private static func elements(_ list: Value) -> [(id: String, value: Value)]? {
        guard let values = list.arrayValue, values.count <= 1000 else { return nil }
        let elements = values.compactMap { value in Reminder(value).map { ($0.id, value) } }
        return elements.count == values.count && Set(elements.map(\.0)).count == values.count ? elements : nil
    }
}
