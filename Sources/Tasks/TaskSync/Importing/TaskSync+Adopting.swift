import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Connects files and documents that meet for the first time.
extension TaskSync {
    /// Connects files with the documents that have the same contents. It is called with a new state
    /// file and a server that has tasks.
    func adoptKnownFiles() async throws {
        var found: [ScannedFile] = []
        _ = try? folder.scan(.look) { found.append($0) }
        var byTitle: [String: [TaskCatalog.Entry]] = [:]
        for entry in catalog.living { byTitle[entry.title, default: []].append(entry) }
        guard !byTitle.isEmpty else { return }
        var adopted = Set<TaskID>()
        for file in found where !file.isAttachment && index[file.path] == nil {
            guard let content = try? folder.read(file.path),
                let parsed = try? TaskFile(parsing: content.bytes, named: file.path.name)
            else { continue }
            let list = file.path.parent.isRoot ? "" : file.path.parent.string
            let candidates = (byTitle[parsed.item.title] ?? []).filter {
                !adopted.contains($0.id) && ($0.list.flatMap { catalog.listNames[$0] } ?? "") == list
            }
            for candidate in candidates {
                guard try await adopt(file.path, content, parsed, candidate) else { continue }
                adopted.insert(candidate.id)
                break
            }
        }
    }

    private func adopt(
        _ path: TaskPath, _ content: TaskFileContent, _ file: TaskFile, _ entry: TaskCatalog.Entry
    ) async throws -> Bool {
        let name = try await self.name(of: entry.id)
        let document = TaskItem(fields: try await client.document(name).fields(pendingTimes: .previous))
        guard let same = try? file.updated(to: document), same.bytes == file.bytes else { return false }
        let stamp = (try? folder.setMark(path, to: mark(of: entry.id, at: path), of: content.stamp)) ?? content.stamp
        let row = FileRow(task: entry.id, path: path, list: entry.list, stamp: stamp, bytes: content.bytes)
        try await client.transaction { try SyncTables($0).put(row) }
        index.set(path, FileIndex.Entry(task: row.task, stamp: row.stamp))
        return true
    }
}
