import DocumentClient
package import DocumentModel
import TaskModel

/// A value that a merge displaced and that nobody has looked at yet.
package struct Conflict: Sendable {
    /// Of the history entry.
    package let id: String
    package let task: String
    package let title: String
    /// A field path, or `__document__`.
    package let field: String
    package let standing: Value?
    package let displaced: Value?
    package let replacedTime: Timestamp?
    package let replica: String
    package let reason: String
    let name: DocumentName
}

extension TaskSync {
    /// Newest first.
    package func conflicts() async throws -> [Conflict] {
        let userID = configuration.userID
        let found = try await client.reading { transaction in
            let history = Self.queries(of: userID, in: transaction.databaseName)[2]
            return try transaction.documents(history).compactMap { entry -> Conflict? in
                guard Self.isOpen(entry), let task = entry.name.parent else { return nil }
                let document = try transaction.document(task)
                let field = entry["field"]?.stringValue ?? ""
                let path = try? FieldPath(parsing: field)
                return Conflict(
                    id: entry.name.id, task: task.id, title: TaskItem(fields: document.fields).title, field: field,
                    standing: path.flatMap { document[$0] }, displaced: entry["value"],
                    replacedTime: entry["replacedTime"]?.timestampValue, replica: entry["replica"]?.stringValue ?? "",
                    reason: entry["reason"]?.stringValue ?? "", name: entry.name)
            }
        }
        return found.sorted { ($0.replacedTime ?? .distantPast) > ($1.replacedTime ?? .distantPast) }
    }

    /// Whether somebody should look at a history entry. That a comment or an order of keys gave way is history only.
    static func isOpen(_ entry: DocumentSnapshot) -> Bool {
        let isDismissed =
            entry["dismissedTime"] != nil
            || entry.pendingTimePaths.contains { $0.segments == ["dismissedTime"] }
        let isAppearance = entry["field"]?.stringValue.map(TaskLayout.fields.contains) ?? false
        return entry.exists && !isDismissed && !isAppearance
    }

    /// How many there are, as of the last look: kept up to date by exports.
    package var conflictCount: Int { openConflicts.count }

    /// Settles conflicts: what stands stays, or the displaced value comes back and takes its place.
    package func resolve(_ ids: [String], takingDisplaced: Bool) async throws {
        let chosen = try await conflicts().filter { ids.contains($0.id) }
        try await exclusively {
            try await client.transaction { transaction in
                for conflict in chosen {
                    if takingDisplaced, let path = try? FieldPath(parsing: conflict.field),
                        let task = conflict.name.parent
                    {
                        try transaction.append(
                            .merge(
                                task, [path: conflict.displaced],
                                transforms: [FieldTransform(FieldPath(key: "updatedTime"), .serverTimestamp)]))
                    }
                    try transaction.append(
                        .merge(
                            conflict.name, [:],
                            transforms: [FieldTransform(FieldPath(key: "dismissedTime"), .serverTimestamp)]))
                }
            }
            try await exportChanges()
        }
    }
}
