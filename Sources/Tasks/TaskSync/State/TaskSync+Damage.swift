import DocumentClient
import SQLite
import TaskFolder
import TaskModel

/// Repairs damaged rows in the bridge's tables.
extension TaskSync {
    /// Removes damaged rows. It is called if the state file was opened for repair.
    ///
    /// A file that has the text of its row is read again and stays in step. Any other file counts
    /// as new: it is merged with its document, and displaced values are in the history. The same
    /// holds for the files of tasks whose unsent changes are lost.
    func repairTables() async throws {
        let lost = await client.repairs.mutations
        let damaged = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            _ = try tables.removeDamaged()
            for path in lost where path.hasPrefix("tasks/") {
                try tables.removeFile(TaskID(String(path.dropFirst("tasks/".count))))
            }
            return try tables.damagedFiles()
        }
        var good: [FileRow] = []
        for (_, row) in damaged {
            guard var row, (try? folder.stamp(row.path)) == row.stamp, let content = try? folder.read(row.path),
                try await isFile(row)
            else { continue }
            row.bytes = content.bytes
            good.append(row)
        }
        let found = good
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for (id, _) in damaged { try tables.removeFile(row: id) }
            for row in found { try tables.put(row) }
        }
    }

    /// Whether a file belongs to the task that its row names, which may be wrong, too.
    private func isFile(_ row: FileRow) async throws -> Bool {
        if let identifier = folder.taskID(of: row.path) { return identifier == row.task }
        let task = row.task
        let view = try await client.reading { try $0.task(task) }
        return view.exists || view.isAwaited
    }
}
