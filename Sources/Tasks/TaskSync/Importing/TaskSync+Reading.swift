import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Reads task files for the import, and reports why a file cannot be imported.
extension TaskSync {
    /// Records another owner or mode of a file with the same text. An export that waits for the
    /// known stamp needs it.
    private func restamp(_ task: TaskID, _ path: TaskPath, _ stamp: FileStamp) async throws {
        let remembered = rememberedRetries
        let retries: Set<TaskID>? = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            guard var row = try tables.file(task), row.path == path else { return nil }
            row.stamp = stamp
            try tables.put(row)
            let isBehind = FileExport.isBehind(row, try transaction.task(task))
            return try tables.addRetries(isBehind ? [task] : [], to: remembered)
        }
        guard let retries else { return }
        rememberedRetries = retries
        index.set(path, FileIndex.Entry(task: task, stamp: stamp))
        self.retries.insert(task)
    }

    /// Records the stamp of a file that cannot be read. It is assumed to have another owner or mode
    /// only, so that changes of its task can replace it.
    private func takeUnreadable(_ path: TaskPath) async throws {
        guard let entry = index[path], held[entry.task] == nil, let now = try? folder.stamp(path),
            entry.stamp != now, entry.stamp.hasContent(of: now)
        else { return }
        if try await isBehind(entry.task) { try await restamp(entry.task, path, now) }
    }

    /// Records the new path of a known file that has moved without an event and cannot be read
    /// there, for example because it has become too large. It was not deleted.
    private func followUnread(_ path: TaskPath) async throws {
        guard index[path] == nil, let now = (try? folder.stamp(path)) ?? nil else { return }
        let identifier = folder.taskID(of: path)
        let known = identifier.map { index.path(of: $0) } ?? index.path(withInodeOf: now)
        guard let known, let entry = index[known], isSame(now, as: entry, identifier), folder.isAbsent(known) else {
            return
        }
        try await moved(known, path, now, afterDelete: false)
    }

    /// Reads a file that has changed. Problems that prevent the import are reported.
    ///
    /// - Parameter replaced: Gets the task whose path the file of another task has taken.
    /// - Returns: The file; nil if it is not to be imported now.
    func read(
        _ path: TaskPath, settled: FileStamp?, claimed: [ImportedFile], _ replaced: inout Set<TaskID>
    ) async throws -> ImportedFile? {
        let content: TaskFileContent
        do throws(FolderError) {
            guard let now = try folder.stamp(path) else { throw FolderError(.notFound, "\(path) has gone") }
            // The event of the last read or write by Ferry itself.
            if let entry = index[path], entry.stamp == now, !now.isCoarse, held[entry.task] == nil {
                problems[path.string] = nil
                return nil
            }
            if unfilled.values.contains(where: { $0.stamp.hasContent(of: now) }) { return nil }
            content = try folder.read(path)
        } catch {
            switch error.code {
            case .notFound:
                problems[path.string] = nil
                // The whole directory may be gone. When it is back, a scan finds the file.
                if try await checkRoot(), !folder.isAbsent(path) { changes.noteFound(path) }
            case .unstable: break
            default:
                note(
                    SyncProblem(code: Self.word(error.code), subject: path.string, message: error.message),
                    for: path.string)
                try await followUnread(path)
                try await takeUnreadable(path)
            }
            return nil
        }
        if let entry = index[path], entry.stamp.hasContent(of: content.stamp), held[entry.task] == nil,
            try await client.reading({ try SyncTables($0).file(entry.task)?.bytes }) == content.bytes
        {
            problems[path.string] = nil
            try await forgetReverts([entry.task])
            if entry.stamp != content.stamp { try await restamp(entry.task, path, content.stamp) }
            return nil
        }
        if try await isHeldRevert(path, content) { return nil }
        // Another file is there since the event. The known one may have just been renamed, which is
        // reported first.
        if let settled, !settled.isFile(of: content.stamp), index[path]?.stamp.isFile(of: content.stamp) == false {
            changes.noteFound(path)
            return nil
        }
        if content.bytes.isEmpty, settled?.size != 0, let entry = index[path], entry.stamp.size != 0 {
            changes.noteFound(path)
            return nil
        }
        // The file was read under another name and renamed to this one since, which is reported
        // next. The other name may be that of another file by now.
        if claimed.contains(where: { $0.stamp.isFile(of: content.stamp) && !isThere($0.path, $0.stamp) }) {
            return nil
        }
        let file: TaskFile
        do throws(TaskFileProblem) {
            file = try TaskFile(parsing: content.bytes, named: path.name)
        } catch {
            note(
                SyncProblem(
                    code: Self.word(error.code), subject: path.string, message: error.description,
                    hint: "The file is left alone, and the remote keeps its last good version, until it is mended."),
                for: path.string)
            return nil
        }
        let mark = try? folder.mark(path)
        let identifier = (mark?.task).map { TaskID($0) }
        // Another file may have just replaced this one. Its identifier says nothing about this
        // text.
        if let identifier, identifier != index[path]?.task,
            (try? folder.stamp(path))?.isFile(of: content.stamp) != true
        {
            changes.noteFound(path)
            return nil
        }
        let namesUnknown = try await isUnknown(identifier, at: path, claimed: claimed)
        var (task, isNew) = try await identify(
            path, content, identifier, namesUnknown: namesUnknown, claimed: claimed, &replaced)
        // It may have taken the place of a known file. An identifier of another account may have been
        // copied along, so that the text tells.
        var isOther = isNew
        if namesUnknown, !isNew {
            isOther = mark?.account == configuration.userID.rawValue
            if !isOther { isOther = try await isForeign(content, identifier, where: task) }
        }
        if namesUnknown, isOther {
            if try await waitsForItsTask(path, identifier) { return nil }
            if let mark, await isReusable(mark) {
                if !isNew { replaced.insert(task) }
                (task, isNew) = (TaskID(mark.task), true)
            }
        }
        if !isNew { endWait(of: path, for: task) }
        let deleted = isNew ? try await deletedFile(path, content.bytes, claimed: claimed) : nil
        if let deleted {
            (task, isNew) = (deleted.row.task, false)
            deletedFiles = deletedFiles.filter { $0.value.row.task != deleted.row.task }
        }
        let joined = isNew ? try await unwrittenTask(path, file, claimed: claimed) : nil
        if let joined { (task, isNew) = (joined.task, false) }
        if let problem = try await limitProblem(of: file, at: path, task) {
            note(problem, for: path.string)
            return nil
        }
        // A move without an event: into a directory that was new, or while the directory was not
        // watched.
        let origin = movedFrom.removeValue(forKey: path)
        let old = isNew ? nil : index.path(of: task).flatMap { $0 == path ? nil : $0 }
        var stamp = content.stamp
        // An editor may have replaced the known file by a new one, which has no identifier. If that
        // is renamed, nothing else tells its task.
        let right = self.mark(of: task, at: path)
        if mark != right {
            if let changed = try? folder.setMark(path, to: right, of: stamp) {
                stamp = changed
            } else if !isThere(path, stamp) {
                // The file was just renamed and is read under its new name. Here it would be
                // neither synchronized nor marked, and without its mark it may look new.
                changes.askForScan()
                return nil
            }
        }
        return ImportedFile(
            path: path, stamp: stamp, file: file, task: task, isNew: isNew, source: old ?? origin,
            attachmentSource: old, deleted: deleted, joined: joined?.row)
    }

    /// Whether a file still has the name under which it was read; true if that cannot be looked at.
    private func isThere(_ path: TaskPath, _ stamp: FileStamp) -> Bool {
        do throws(FolderError) {
            return try folder.stamp(path)?.isFile(of: stamp) == true
        } catch {
            return true
        }
    }

    /// Returns the limit of documents that a task's file would exceed; nil if it exceeds none. The
    /// server would refuse such a file and all later changes of the task.
    private func limitProblem(of file: TaskFile, at path: TaskPath, _ task: TaskID) async throws -> SyncProblem? {
        let name = try await name(of: task)
        var fields = FileImport.FileContents(file, named: path.name).fields
        let attached = attachments.rows(of: task).count
        if file.bytes.count > Self.surelySmall || attached > 100 {
            let known = try await client.document(name).fields(pendingTimes: .previous)
            fields.merge(known.filter { !["notes", "fields", "tags"].contains($0.key) }) { own, _ in own }
        }
        do throws(WriteError) {
            try DocumentLimits.check(fields, of: name)
            return nil
        } catch {
            let size = DocumentLimits.size(of: name, fields: fields)
            let limit = DocumentLimits.maximumSize
            let use =
                "With \(attached) attachments the task would take \(size) of the \(limit) bytes that a task may have. Front "
                + "matter counts twice."
            return SyncProblem(
                code: "too-large", subject: path.string, message: size > limit ? use : error.message,
                hint: "Shorten the file. It is left alone, and other machines keep its last good version.")
        }
    }

    /// The size in bytes up to which any file fits into a document with up to 100 attachments.
    private static let surelySmall = 300_000

    /// Returns the name of an enumeration case in kebab-case.
    static func word(_ code: some Any) -> String {
        var word = ""
        for character in "\(code)" {
            if character.isUppercase { word += "-" }
            word += character.lowercased()
        }
        return word
    }
}
