import DocumentClient
package import DocumentModel
import Merge
package import TaskModel

/// A value that a merge displaced, or that a user removed or replaced, from the history of its task.
package struct Displacement: Sendable {
    /// The id of the history entry.
    package let id: String
    package let task: TaskID
    package let title: String
    /// The path of the field, or `__document__`.
    package let field: String
    package let standing: Value?
    package let displaced: Value?
    /// The server's time of the commit that displaced it; nil until the server has committed it.
    package let replacedTime: Timestamp?
    /// The replica whose change is in force.
    package let replica: ReplicaID
    /// The origin of the displaced value; nil if the document does not record it.
    package let origin: TaskOrigin?
    /// The origin of the value that is in force now.
    package let standingOrigin: TaskOrigin
    package let reason: String
    /// Whether no user has settled it yet.
    package let isOpen: Bool
    let name: DocumentName

    /// Whether a delete was displaced by an edit, which kept the task.
    package var isDelete: Bool { field == "__document__" || field == "deletedTime" }

    /// The group of the entry. Entries of one merge and one group of fields are one displacement,
    /// represented by the first of them that has a value. A commit may contain the entries of
    /// several merges, if other commits came first several times; each may have displaced another
    /// value.
    fileprivate var group: Group {
        let groups = MergePolicy.tasks.groups.map { $0.map(\.description) }
        return Group(
            task: task, merge: id.lastIndex(of: "-").map { String(id[..<$0]) } ?? id,
            field: groups.first { $0.contains(field) }?.first ?? field)
    }

    fileprivate struct Group: Hashable {
        let task: TaskID
        /// The common prefix of the ids of a merge's entries.
        let merge: String
        let field: String
    }

    /// Returns the groups of entries, newest first. The first entry of a group represents it.
    static func grouped(_ entries: [Displacement]) -> [[Displacement]] {
        let groups = Dictionary(grouping: entries, by: \.group)
        return groups.map { key, members in
            members.sorted { ($0.field == key.field ? 0 : 1, $0.field) < ($1.field == key.field ? 0 : 1, $1.field) }
        }.sorted { isNewer($0[0], $1[0]) }
    }

    /// Whether an entry is newer than another. Entries that the server has not committed are the
    /// newest.
    static func isNewer(_ left: Displacement, _ right: Displacement) -> Bool {
        (left.replacedTime ?? .max, left.id) > (right.replacedTime ?? .max, right.id)
    }

    /// Whether a user's own change removed or replaced the value, which is no conflict.
    package var isOwnChange: Bool { TaskHistory.ownReasons.contains(reason) }
}

/// The origins of a task's present values.
package struct TaskOrigins: Sendable {
    package let created: TaskOrigin
    /// The fields that were changed after the creation, by path.
    package let fields: [String: TaskOrigin]
    /// The fields that a user sets, with their values in the document; nil for a removed field.
    package let values: [(path: FieldPath, value: Value?)]
    /// The server's time of the last change of any kind; nil if the server does not have the task.
    package let updateTime: Timestamp?
    package let hasPendingWrites: Bool
}

extension TaskSync {
    /// Returns the displacements that no user has settled yet, newest first.
    package func conflicts() async throws -> [Displacement] {
        let found = try await client.reading { transaction in
            let history = Self.localQueries(in: transaction.databaseName).history
            return try transaction.documents(history).filter(Self.isOpen).compactMap { entry in
                try Self.displacement(entry, transaction)
            }
        }
        return Displacement.grouped(found).map { $0[0] }
    }

    /// Returns all displaced, removed or replaced values of all tasks, newest first.
    package func displacements() async throws -> [Displacement] {
        let pending = try await pendingHistory()
        let found = try await client.reading { transaction in
            let history = Self.localQueries(in: transaction.databaseName).history
            let entries = try transaction.documents(history).filter { !Self.isAppearance($0.fields) }
            return try Self.displacements(entries, pending, transaction)
        }
        return Displacement.grouped(found).map { $0[0] }
    }

    /// Returns all displaced, removed or replaced values of a task, newest first.
    package func history(of task: TaskID) async throws -> [Displacement] {
        guard catalog[task] != nil else { throw TaskSyncError(.notFound, "There is no task \(task).") }
        let pending = try await pendingHistory()
        let found = try await client.reading { try Self.history(of: task, pending, $0) }
        return Displacement.grouped(found).map { $0[0] }
    }

    /// Returns the displaced values of a task.
    ///
    /// - Parameter pending: The entries of all tasks that are still to be sent.
    static func history(
        of task: TaskID, _ pending: [(name: DocumentName, fields: [String: Value])],
        _ transaction: ReplicaTransaction
    ) throws -> [Displacement] {
        let name = try DocumentName(task: task, in: transaction.databaseName)
        let history = Query(parent: ParentName(name), collectionID: TaskHistory.collection)
        return try displacements(
            transaction.documents(history).filter { $0.exists && !isAppearance($0.fields) },
            pending.filter { $0.name.parent == name && !isAppearance($0.fields) }, transaction)
    }

    /// Returns the displacements of history entries.
    ///
    /// - Parameter pending: Entries that are still to be sent. Some of them may have been received
    ///   again already.
    static func displacements(
        _ entries: [DocumentSnapshot], _ pending: [(name: DocumentName, fields: [String: Value])],
        _ transaction: ReplicaTransaction
    ) throws -> [Displacement] {
        let known = Set(entries.map(\.name))
        return try entries.compactMap { try displacement($0, transaction) }
            + pending.filter { !known.contains($0.name) }.compactMap {
                try displacement($0.name, $0.fields, isOpen: false, transaction)
            }
    }

    /// Returns the origins of a task's values.
    package func origins(of task: TaskID) async throws -> TaskOrigins {
        guard catalog[task] != nil else { throw TaskSyncError(.notFound, "There is no task \(task).") }
        let view = try await client.reading { transaction in
            try transaction.document(
                try DocumentName(task: task, in: transaction.databaseName))
        }
        let fields = view.fields
        var values: [(path: FieldPath, value: Value?)] = []
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) where TaskOrigin.isTold(FieldPath(key: key)) {
            if ["fields", "instances", "attachments"].contains(key), let members = value.mapValue {
                for (element, value) in members.sorted(by: { $0.key < $1.key }) {
                    values.append((FieldPath(key: key).appending(element), value))
                }
            } else {
                values.append((FieldPath(key: key), value))
            }
        }
        var told: [String: TaskOrigin] = [:]
        for (field, entry) in fields[TaskOrigin.field]?.mapValue ?? [:] {
            told[field] = TaskOrigin(
                entry, of: (try? FieldPath(parsing: field)).flatMap { fields.value(at: $0.segments[...]) })
        }
        let present = Set(values.map(\.path))
        values += told.keys.sorted().compactMap { try? FieldPath(parsing: $0) }
            .filter { !present.contains($0) && $0.segments != ["deletedTime"] }.map { ($0, nil) }
        return TaskOrigins(
            created: TaskOrigin(creating: fields),
            fields: told,
            values: values, updateTime: view.updateTime, hasPendingWrites: view.hasPendingWrites)
    }

    /// Settles conflicts: either the present value stays, or the displaced one replaces it.
    package func resolve(_ ids: [String], takingDisplaced: Bool) async throws {
        let (now, userID, merge) = (configuration.wallClock(), configuration.userID, DocumentID.make(in: environment))
        try await withExclusiveAccess {
            try await client.transaction { transaction in
                let history = Self.localQueries(in: transaction.databaseName).history
                let open = try transaction.documents(history).filter(Self.isUndecided).compactMap { entry in
                    try Self.displacement(entry, transaction)
                }
                var steps: [UndoStep] = []
                for group in Displacement.grouped(open) where group.contains(where: { ids.contains($0.id) }) {
                    if takingDisplaced,
                        let step = try Self.takeBack(
                            group, userID: userID, merge: "\(merge)-\(steps.count)", transaction)
                    {
                        steps.append(step)
                    }
                    for entry in group {
                        try transaction.append(
                            .merge(
                                entry.name, [:],
                                transforms: [FieldTransform(FieldPath(key: "dismissedTime"), .serverTimestamp)]))
                    }
                }
                try UndoSteps(transaction).add(steps, at: now)
            }
            try await exportChanges()
        }
    }

    /// Replaces the present values by the displaced ones of a group.
    ///
    /// - Parameters:
    ///   - keepsStanding: Whether the present values go to the history; attachments always do.
    ///   - merge: A new id for the history entries.
    /// - Returns: The step that undoes the change.
    static func takeBack(
        _ group: [Displacement], keepsStanding: Bool = false, userID: UserID, merge: String,
        _ transaction: ReplicaTransaction
    ) throws -> UndoStep? {
        guard let first = group.first, let task = first.name.parent else { return nil }
        if first.isDelete {
            try trash(task.task, in: transaction)
            return UndoStep(.remove, task.task)
        }
        if let path = try? FieldPath(parsing: first.field), path.segments.first == "attachments",
            path.segments.count == 2
        {
            return try setAttachment(
                AttachmentID(path.segments[1]), of: task.task, to: first.displaced, as: .attachment, userID: userID,
                merge: merge,
                transaction)
        }
        var changes: [FieldPath: Value?] = [:]
        for entry in group {
            if let path = try? FieldPath(parsing: entry.field) { changes.updateValue(entry.displaced, forKey: path) }
        }
        let view = try transaction.document(task)
        guard view.exists else { return nil }
        let known = view.fields(pendingTimes: .previous)
        let replaced =
            !keepsStanding
            ? []
            : changes.keys.sorted().compactMap { path in
                known.value(at: path.segments[...]).map {
                    Merge.DisplacedValue(field: path, value: $0, side: .theirs, reason: .replaced)
                }
            }
        let mutation = Mutation.merge(
            task, changes, transforms: [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)]
        ).signed(by: transaction.replica)
        try transaction.append(
            mutation.keeping(
                replaced, of: view, known, userID: userID, replica: transaction.replica, merge: merge))
        return UndoStep(
            .edit, task.task, before: TaskItem(fields: view.fields(pendingTimes: .previous)),
            after: TaskItem(fields: try transaction.document(task).fields(pendingTimes: .previous)))
    }

    private static func displacement(
        _ entry: DocumentSnapshot, _ transaction: ReplicaTransaction
    ) throws -> Displacement? {
        try displacement(entry.name, entry.fields, isOpen: isOpen(entry), transaction)
    }

    private static func displacement(
        _ name: DocumentName, _ entry: [String: Value], isOpen: Bool, _ transaction: ReplicaTransaction
    ) throws -> Displacement? {
        guard let task = name.parent else { return nil }
        let document = try transaction.document(task).fields
        let field = entry["field"]?.stringValue ?? ""
        let standing = (try? FieldPath(parsing: field)).flatMap { document.value(at: $0.segments[...]) }
        return Displacement(
            id: name.id, task: task.task, title: TaskItem(fields: document).title, field: field,
            standing: standing,
            displaced: entry["value"],
            replacedTime: entry["replacedTime"]?.timestampValue,
            replica: ReplicaID(entry["replica"]?.stringValue ?? ""),
            origin: TaskOrigin(entry["origin"], of: entry["value"]),
            standingOrigin: TaskOrigin(document[TaskOrigin.field]?.mapValue?[field], of: standing)
                ?? TaskOrigin(creating: document),
            reason: entry["reason"]?.stringValue ?? "", isOpen: isOpen, name: name)
    }

    /// Whether a history entry is a conflict that a user should settle. Displaced comments and
    /// orders of keys are not.
    static func isOpen(_ entry: DocumentSnapshot) -> Bool {
        // This field changes together with `due`.
        isUndecided(entry) && entry["field"]?.stringValue != "dueHasTime"
    }

    private static func isUndecided(_ entry: DocumentSnapshot) -> Bool {
        let isDismissed =
            entry["dismissedTime"] != nil
            || entry.pendingTimePaths.contains { $0.segments == ["dismissedTime"] }
        // The dates of a recurring task that a merge replaced.
        let isOwn = entry["reason"]?.stringValue.map(TaskHistory.ownReasons.contains) ?? false
        return entry.exists && !isDismissed && !isOwn && !isAppearance(entry.fields)
    }

    private static func isAppearance(_ entry: [String: Value]) -> Bool {
        guard let path = entry["field"]?.stringValue.flatMap({ try? FieldPath(parsing: $0) }) else { return false }
        return path.segments.first.map { TaskLayout.fields.contains($0) || $0 == TaskOrigin.field } ?? false
    }

    /// The number of open conflicts. Exports keep it up to date.
    package var conflictCount: Int { openConflicts.count }
}

extension Timestamp {
    fileprivate static let max = Timestamp(microseconds: .max)
}
