import DocumentClient
import DocumentModel
import SystemService
import TaskFolder
import TaskModel

/// Gives attachment files the names that `AttachmentNames` decides.
extension TaskSync {
    /// Renames those files of a task that do not have the names which all machines give them, if
    /// the names are free.
    ///
    /// - Parameter wanted: The attachments of the task's document, by id.
    func renameAttachments(of task: TaskID, _ wanted: [String: Value]) async throws {
        let rows = attachments.rows(of: task)
        let names: [AttachmentID: String] = wanted.reduce(into: [:]) { names, attachment in
            names[AttachmentID(attachment.key)] = attachment.value.mapValue?["name"]?.stringValue
        }
        // Most files have their names, and there may be thousands.
        let areDistinct = Set(names.values.map { ExactText($0) }).count == names.count
        let isMisnamed = rows.contains { id, row in names[id].map { !$0.utf8.elementsEqual(row.name.utf8) } ?? false }
        guard !areDistinct || isMisnamed else { return }
        let numbers = AttachmentNames.numbers(of: names)
        var left: [(row: AttachmentRow, name: String)] = rows.sorted { $0.key < $1.key }.compactMap { id, row in
            guard let name = names[id], let number = numbers[id] else { return nil }
            let isOwnName = number == 1 && name.utf8.elementsEqual(row.name.utf8)
            let file = Self.fileName(name, number)
            return isOwnName || file.utf8.elementsEqual(row.name.utf8) ? nil : (row, file)
        }
        var spare = numbers.values.max() ?? 1
        while !left.isEmpty {
            var blocked: [(row: AttachmentRow, name: String)] = []
            for item in left where try await rename(item.row, to: item.name) == false { blocked.append(item) }
            if blocked.count < left.count {
                left = blocked
                continue
            }
            // Two files have each other's name: one of them gets a temporary one.
            let heldNames = Set(left.map { ExactText($0.row.name) })
            guard let first = left.firstIndex(where: { heldNames.contains(ExactText($0.name)) }), spare < 1000 else {
                return
            }
            spare += 1
            let aside = Self.fileName(left[first].name, spare)
            guard try await rename(left[first].row, to: aside) == true else { continue }
            left[first].row = attachments.rows(of: task)[left[first].row.attachment] ?? left[first].row
        }
    }

    /// Renames a file.
    ///
    /// - Returns: Whether it was renamed; false if the name is taken, nil if the file is not the
    ///   known one, which an event reports.
    private func rename(_ row: AttachmentRow, to name: String) async throws -> Bool? {
        guard let source = path(of: row), let target = try? source.parent.appending(name) else { return nil }
        do throws(FolderError) {
            switch try folder.move(source, to: target, expecting: .stamp(stamp(of: row, at: source))) {
            case .moved: break
            case .exists: return false
            case .changed: return nil
            }
        } catch {
            logger.warning("\(source) could not be renamed to \(name)", ["error": "\(error)"])
            return nil
        }
        var moved = row
        moved.name = name
        moved.stamp = stamp(of: row, at: target)
        try await client.transaction { [moved] in try SyncTables($0).put(moved) }
        attachments.set(moved)
        return true
    }
}
