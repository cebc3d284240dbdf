import DocumentClient
package import DocumentModel
import Merge
package import TaskModel

/// The origin of a task's field: the last change of it, according to the task's document.
///
/// `createdBy` is the replica that created the task. `origins` maps the path of each field that was
/// changed since to `by` (a replica's id), `time` (of the commit; absent if the value has it as its
/// own `createdTime`) and, if a merge made the value, `rule`.
package struct TaskOrigin: Sendable, Hashable {
    /// The replica; nil for another client, which does not record it.
    package var replica: ReplicaID?
    /// The time of the change; nil until the server has committed it.
    package var time: Timestamp?
    /// `merged`, `changedOnBothSides` or `overlappingText`; nil if no other change was merged.
    package var rule: String?

    static let field = "origins"
    static let creator = "createdBy"

    init(replica: ReplicaID?, time: Timestamp?, rule: String? = nil) {
        self.replica = replica
        self.time = time
        self.rule = rule
    }

    /// Creates the origin of a field without an entry from the task's document: the creation of the
    /// task.
    init(creating document: [String: Value]) {
        self.init(
            replica: document[Self.creator]?.stringValue.map { ReplicaID($0) },
            time: document["createdTime"]?.timestampValue)
    }

    /// Reads an entry of `origins`, or the field `origin` of a history entry; nil if it is not
    /// valid.
    ///
    /// - Parameter value: The value that it describes.
    init?(_ entry: Value?, of value: Value?) {
        guard let entry = entry?.mapValue else { return nil }
        self.init(
            replica: entry["by"]?.stringValue.map { ReplicaID($0) }, time: MergePolicy.tasks.time(in: entry, of: value),
            rule: entry["rule"]?.stringValue)
    }

    /// Fields that only change together with others, or that no user sets.
    private static let silent: Set<String> = [
        "dueHasTime", "completedTime", "updatedTime", "createdTime", "userId", "signatures", "snoozes",
    ]

    static func isTold(_ path: FieldPath) -> Bool {
        guard let key = path.segments.first else { return false }
        return !silent.contains(key) && !TaskLayout.fields.contains(key) && key != field && key != creator
    }
}

extension Mutation {
    /// The number of times in one change from which occurrences get none.
    private static let timeLimit = 200

    /// Returns the same change of a task with the replica that made it.
    func signed(by replica: ReplicaID) -> Mutation {
        var (fields, mask, transforms) = (fields, mask, transforms)
        if kind == .create {
            fields[TaskOrigin.creator] = .string(replica.rawValue)
            return Mutation(
                kind, name, fields: fields, mask: mask, transforms: transforms, companions: companions)
        }
        let times = Set(transforms.map(\.path))
        let deletions = times.filter { $0.segments == ["deletedTime"] }
        for path in self.mask + deletions where TaskOrigin.isTold(path) {
            let entry = FieldPath(key: TaskOrigin.field).appending(path.description)
            let isElement = path.segments.first.map(["attachments", "instances"].contains) ?? false
            if isElement, fields.value(at: path.segments[...]) == nil {
                // Each has a key of its own, and entries of removed ones would accumulate forever.
                mask.append(entry)
                continue
            }
            fields.setValue(.string(replica.rawValue), at: entry.appending("by").segments[...])
            // A write has few transforms and a task many attachments, each of which has its own
            // time.
            if path.segments.count == 2, times.contains(path.appending("createdTime")) {
                mask.append(entry)
                continue
            }
            // An older entry may have had a rule.
            mask += [entry.appending("by"), entry.appending("rule")]
            // An import may contain the occurrences of years.
            if path.segments.first == "instances", transforms.count >= Self.timeLimit {
                mask.append(entry.appending("time"))
                continue
            }
            transforms.append(FieldTransform(entry.appending("time"), .serverTimestamp))
        }
        return Mutation(kind, name, fields: fields, mask: mask, transforms: transforms, companions: companions)
    }
}

extension ReplicaTransaction {
    /// The id of this replica.
    var replica: ReplicaID { ReplicaID(replicaID) }
}
