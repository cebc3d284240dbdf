import DocumentClient
import DocumentModel
import Merge
package import TaskModel

/// Keeps attachments that a user removes or replaces in the history of their task, on every
/// machine, so that commands can restore them. The server keeps the content to which a history
/// refers.
extension TaskSync {
    /// The maximum number of attachments that one change of a document replaces. Each writes a
    /// history entry, and a commit may write 500 documents.
    static let attachmentsAtOnce = 200

    /// Sets or removes attachments of a task, and keeps the previous ones in the task's history.
    ///
    /// - Parameters:
    ///   - values: At most `attachmentsAtOnce`; nil removes an attachment.
    ///   - kind: The kind of the steps that are returned.
    ///   - merge: A new id for the history entries.
    /// - Returns: The steps that undo the change, none for an attachment that the task has already;
    ///   an empty array if the task is gone.
    static func setAttachments(
        _ values: [AttachmentID: Value?], of task: TaskID, as kind: UndoStep.Kind, userID: UserID, merge: String,
        _ transaction: ReplicaTransaction
    ) throws -> [UndoStep] {
        let view = try transaction.task(task)
        guard view.exists else { return [] }
        let known = view.fields(pendingTimes: .previous)
        var (changes, displaced, steps) = ([FieldPath: Value?](), [Merge.DisplacedValue](), [UndoStep]())
        for (id, value) in values.sorted(by: { $0.key < $1.key }) {
            let path = FieldPath(key: "attachments").appending(id.rawValue)
            let old = known.value(at: path.segments[...])
            if hasSameContent(old, value) { continue }
            changes[path] = .some(value)
            if let old {
                displaced.append(
                    .init(field: path, value: old, side: .theirs, reason: value == nil ? .removed : .replaced))
            }
            steps.append(UndoStep(kind, task, attachment: .init(id: id, before: old, after: value)))
        }
        guard !steps.isEmpty else { return [] }
        let mutation = Mutation.merge(
            view.name, changes, transforms: [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)]
        ).signed(by: transaction.replica)
        try transaction.append(
            mutation.keeping(
                displaced, of: view, known, userID: userID, replica: transaction.replica, merge: merge))
        return steps
    }

    /// Sets or removes one attachment; see `setAttachments`.
    static func setAttachment(
        _ attachment: AttachmentID, of task: TaskID, to value: Value?, as kind: UndoStep.Kind, userID: UserID,
        merge: String, _ transaction: ReplicaTransaction
    ) throws -> UndoStep? {
        try setAttachments([attachment: value], of: task, as: kind, userID: userID, merge: merge, transaction).first
    }

    /// Whether two values of a document state the same content of an attachment, or both none.
    static func hasSameContent(_ left: Value?, _ right: Value?) -> Bool {
        guard let left = left.flatMap({ TaskAttachment($0) }), let right = right.flatMap({ TaskAttachment($0) }) else {
            return left == nil && right == nil
        }
        return left.sha256 == right.sha256 && left.manifest == right.manifest
    }

    /// Returns the attachments that users removed or replaced, newest first, without repeated
    /// contents of an attachment. Those of tasks in the trash are left out.
    package func trashedAttachments() async throws -> [Displacement] {
        let pending = try await pendingHistory()
        let found = try await client.reading { transaction in
            let history = Self.localQueries(in: transaction.databaseName).history
            let entries = try transaction.documents(history).filter { Self.isOfAttachment($0.fields) }
            return try Self.displacements(entries, pending.filter { Self.isOfAttachment($0.fields) }, transaction)
        }
        var seen: Set<[String]> = []
        return found.sorted(by: Displacement.isNewer).filter { entry in
            guard let file = entry.displaced.flatMap({ TaskAttachment($0) }), file.manifest != nil,
                !Self.hasSameContent(entry.displaced, entry.standing), catalog[entry.task]?.deletion == nil
            else { return false }
            return seen.insert([entry.task.rawValue, entry.field, file.sha256 ?? ""]).inserted
        }
    }

    private static func isOfAttachment(_ entry: [String: Value]) -> Bool {
        TaskHistory.ownReasons.contains(entry["reason"]?.stringValue ?? "")
            && entry["field"]?.stringValue?.hasPrefix("attachments.") == true
    }

    /// Restores a value from a task's history. The present value goes to the history.
    ///
    /// - Parameter id: The id of the history entry.
    package func restoreDisplaced(_ id: String, of task: TaskID) async throws {
        let now = configuration.wallClock()
        try await withExclusiveAccess {
            try await readFirst(task)
            let (userID, merge) = (configuration.userID, DocumentID.make(in: environment))
            let pending = try await pendingHistory()
            try await client.transaction { transaction in
                let entries = try Self.history(of: task, pending, transaction)
                guard let group = Displacement.grouped(entries).first(where: { $0.contains { $0.id == id } }) else {
                    throw TaskSyncError(.notFound, "The history of the task has no entry \(id) any more.")
                }
                let step = try Self.takeBack(group, keepsStanding: true, userID: userID, merge: merge, transaction)
                try UndoSteps(transaction).add(step.map { [$0] } ?? [], at: now)
            }
            try await exportChanges()
        }
    }

    /// Returns the history entries of changes that were not sent yet.
    func pendingHistory() async throws -> [(name: DocumentName, fields: [String: Value])] {
        try await client.pendingMutations().flatMap { pending in
            pending.mutation.companions.compactMap { write in
                guard case .update(let name, let fields) = write.operation,
                    name.collectionID == TaskHistory.collection
                else { return nil }
                return (name, fields)
            }
        }
    }

    /// Remembers the attachments that other machines removed or replaced, so that this can be
    /// undone here.
    func noteRemovedAttachments(_ names: Set<DocumentName>) async throws {
        guard isSynced else { return }
        let now = configuration.wallClock()
        try await client.transaction { transaction in
            let undo = UndoSteps(transaction)
            for name in names {
                let entry = try transaction.document(name)
                guard entry.exists, Self.isOfAttachment(entry.fields), let task = name.parent,
                    entry["replica"]?.stringValue != transaction.replica.rawValue, let value = entry["value"],
                    let path = entry["field"]?.stringValue.flatMap({ try? FieldPath(parsing: $0) }),
                    path.segments.count == 2
                else { continue }
                let standing = try transaction.document(task).fields.value(at: path.segments[...])
                guard !Self.hasSameContent(value, standing) else { continue }
                guard try !undo.knows(entry: name.id, of: task.task) else { continue }
                let step = UndoStep(
                    .beside, task.task,
                    attachment: .init(
                        id: AttachmentID(path.segments[1]), before: value, after: standing, entry: name.id))
                try undo.add([step], at: now)
            }
        }
    }
}

extension Mutation {
    /// Returns the change with additional writes that keep the displaced values in the history of
    /// its task.
    ///
    /// - Parameters:
    ///   - view: The task before the change, with `fields`.
    ///   - merge: A new id for the history entries.
    func keeping(
        _ displaced: [Merge.DisplacedValue], of view: DocumentSnapshot, _ fields: [String: Value], userID: UserID,
        replica: ReplicaID, merge: String
    ) -> Mutation {
        let history = TaskHistory.writes(
            of: displaced, from: fields, task: name,
            userID: fields["userId"]?.stringValue.map { UserID($0) } ?? userID, replica: replica,
            baseTime: view.updateTime, id: merge)
        return Mutation(
            kind, name, fields: self.fields, mask: mask, transforms: transforms, companions: companions + history)
    }
}
