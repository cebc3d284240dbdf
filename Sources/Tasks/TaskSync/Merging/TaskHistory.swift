package import DocumentClient
import DocumentModel
import Merge
import TaskModel

/// The history of a task, in documents `tasks/{id}/history/{auto}`: values that a merge displaced,
/// or that a user removed or replaced.
///
/// Fields: `field` (a field path, or `__document__` for a delete), `value` (absent if the field had
/// been removed), `baseTime`, `replacedTime` (when the server committed the displacement),
/// `replica` (whose change is in force), `reason`, `userId`, `origin` (of the displaced value, see
/// `TaskOrigin`), `listId` (the task's list; both are for the users with whom the list is shared);
/// `dismissedTime` once a user has settled it, and from the start for a value that a user removed
/// or replaced, which is no conflict.
enum TaskHistory {
    static let collection = "history"

    /// The reasons of entries from a user's own changes. The trash shows their attachments, and
    /// they are kept as long as its contents.
    static let ownReasons = [Merge.DisplacedValue.Reason.removed, .replaced].map(\.rawValue)

    /// Returns the writes that keep the displaced values of a change of a document with the fields
    /// `theirs`.
    ///
    /// - Parameters:
    ///   - id: An id that only this merge has; the entries' ids begin with it.
    ///   - isDismissed: Whether the entries are no conflicts that a user should settle.
    static func writes(
        of displaced: [Merge.DisplacedValue], from theirs: [String: Value], task: DocumentName, userID: UserID,
        replica: ReplicaID, baseTime: Timestamp?, id: String, isDismissed: Bool = false
    ) -> [Write] {
        displaced.enumerated().compactMap { index, entry in
            let path = "\(task.path)/\(collection)/\(id)-\(index)"
            guard let name = try? DocumentName(database: task.database, path: path) else { return nil }
            var fields = MergePolicy.tasks.origin(of: entry, mine: nil, theirs: theirs)
            fields.merge([
                "field": .string(entry.field.isDocumentName ? "__document__" : entry.field.description),
                "replica": .string(replica.rawValue), "reason": .string(entry.reason.rawValue),
                "userId": .string(userID.rawValue),
            ]) { $1 }
            fields["value"] = entry.value
            fields["listId"] = theirs["listId"]
            fields["baseTime"] = baseTime.map { .timestamp($0) }
            let isSettled = isDismissed || ownReasons.contains(entry.reason.rawValue)
            let times = ["replacedTime"] + (isSettled ? ["dismissedTime"] : [])
            return Write(
                .update(name, fields: fields),
                transforms: times.map { FieldTransform(FieldPath(key: $0), .serverTimestamp) })
        }
    }
}

extension RebasePolicies {
    /// The rules for merging tasks and lists that changed on two sides, with history.
    package static let tasks = RebasePolicies([
        "tasks": TaskRebasePolicy(
            rules: MergingPolicy(
                .tasks, historyCollection: TaskHistory.collection, copiedFields: ["userId", "listId"],
                signatureField: "signatures")),
        "lists": ListRebasePolicy(
            rules: MergingPolicy(
                .lists, historyCollection: TaskHistory.collection, copiedFields: ["userId"],
                signatureField: "signatures")),
    ])
}
