import DocumentClient
package import DocumentModel
import Merge

/// Who set something of a task last, as the task's document tells.
///
/// `createdBy` is the replica that made the task. `origins` maps the path of each field that was
/// changed since to `by` (a replica's id), `time` (the commit's; absent where the value has it as
/// its own `createdTime`) and, where a merge made the value, `rule`.
package struct TaskOrigin: Sendable, Hashable {
    /// nil: another client, which does not say.
    package var replica: String?
    /// nil until the remote has ordered the change.
    package var time: Timestamp?
    /// `merged`, `changedOnBothSides` or `overlappingText`; nil where nobody else had changed the field.
    package var rule: String?

    static let field = "origins"
    static let creator = "createdBy"

    init(replica: String?, time: Timestamp?, rule: String? = nil) {
        self.replica = replica
        self.time = time
        self.rule = rule
    }

    /// Of a field that has no entry, from the task's document: as the task was made.
    init(creating document: [String: Value]) {
        self.init(
            replica: document[Self.creator]?.stringValue, time: document["createdTime"]?.timestampValue)
    }

    /// From an entry of `origins`, or `origin` of a history entry; nil for what is none.
    ///
    /// - Parameter value: what it tells of.
    init?(_ entry: Value?, of value: Value?) {
        guard let entry = entry?.mapValue else { return nil }
        self.init(
            replica: entry["by"]?.stringValue, time: MergePolicy.tasks.time(in: entry, of: value),
            rule: entry["rule"]?.stringValue)
    }

    /// Fields that only go along with others, or that nobody sets by hand.
    private static let silent: Set<String> = [
        "dueHasTime", "completedTime", "updatedTime", "createdTime", "userId", "signatures", "snoozes",
    ]

    static func isTold(_ path: FieldPath) -> Bool {
        guard let key = path.segments.first else { return false }
        return !silent.contains(key) && !TaskLayout.fields.contains(key) && key != field && key != creator
    }
}

extension Mutation {
    /// The number of times in one change from which occurrences go without.
    private static let timeLimit = 200

    /// The same change of a task, saying which replica made it.
    func signed(by replica: String) -> Mutation {
        var (fields, mask, transforms) = (fields, mask, transforms)
        if kind == .create {
            fields[TaskOrigin.creator] = .string(replica)
            return Mutation(
                kind, name, fields: fields, mask: mask, transforms: transforms, companions: companions)
        }
        let times = Set(transforms.map(\.path))
        let deletions = times.filter { $0.segments == ["deletedTime"] }
        for path in self.mask + deletions where TaskOrigin.isTold(path) {
            let entry = FieldPath(key: TaskOrigin.field).appending(path.description)
            let isElement = path.segments.first.map(["attachments", "instances"].contains) ?? false
            if isElement, fields.value(at: path.segments[...]) == nil {
                // Each has a key of its own: entries of those that are gone would gather for good.
                mask.append(entry)
                continue
            }
            fields.setValue(.string(replica), at: entry.appending("by").segments[...])
            // A write has few transforms, and a task many attachments, each of which says itself when it came.
            if path.segments.count == 2, times.contains(path.appending("createdTime")) {
                mask.append(entry)
                continue
            }
            // An older entry may have had a rule.
            mask += [entry.appending("by"), entry.appending("rule")]
            // A vault may bring the occurrences of years at once.
            if path.segments.first == "instances", transforms.count >= Self.timeLimit {
                mask.append(entry.appending("time"))
                continue
            }
            transforms.append(FieldTransform(entry.appending("time"), .serverTimestamp))
        }
        return Mutation(kind, name, fields: fields, mask: mask, transforms: transforms, companions: companions)
    }
}
