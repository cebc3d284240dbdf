package import DocumentClient
import DocumentModel
import Merge
import TaskModel

/// `tasks/{id}/history/{auto}`: a value that a merge displaced, or that a user removed or replaced.
///
/// Fields: `field` (a field path, or `__document__` for a delete), `value` (absent: the field had
/// been removed), `baseTime`, `replacedTime` (when the remote ordered the displacement), `replica`
/// (whose change stands), `reason`, `userId`, `origin` (who had set the value, see `TaskOrigin`),
/// `listId` (where the task was; both for whom the list is shared with); `dismissedTime` once
/// somebody has looked at it, and from the start for a value that a user removed or replaced, which
/// is no conflict.
enum TaskHistory {
    static let collection = "history"

    /// The reasons of entries that a user's own change made. The trash shows their attachments, and
    /// they are kept for as long as it keeps what is in it.
    static let ownReasons = [Merge.DisplacedValue.Reason.removed, .replaced].map(\.rawValue)

    /// The writes that keep what a change of a document, which had `theirs`, displaced.
    ///
    /// - Parameters:
    ///   - id: unique to this merge; the entries' ids begin with it.
    ///   - isDismissed: whether they are kept, but are no conflict that somebody should look at.
    static func writes(
        of displaced: [Merge.DisplacedValue], from theirs: [String: Value], task: DocumentName, userID: UserID,
        replica: String, baseTime: Timestamp?, id: String, isDismissed: Bool = false
    ) -> [Write] {
        displaced.enumerated().compactMap { index, entry in
            let path = "\(task.path)/\(collection)/\(id)-\(index)"
            guard let name = try? DocumentName(database: task.database, path: path) else { return nil }
            var fields = MergePolicy.tasks.origin(of: entry, mine: nil, theirs: theirs)
            fields.merge([
                "field": .string(entry.field.isDocumentName ? "__document__" : entry.field.description),
                "replica": .string(replica), "reason": .string(entry.reason.rawValue),
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
    /// How tasks and lists that changed on two sides are brought together: the rules of the sync model, with history.
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
