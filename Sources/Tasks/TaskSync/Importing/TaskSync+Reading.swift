import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Task files that are read to be imported, and what keeps them from it.
extension TaskSync {
    /// The same text with another owner or mode: an export that waits for the stamp it knows must know this one.
    private func restamp(_ task: String, _ path: TaskPath, _ stamp: FileStamp) async throws {
        let remembered = rememberedRetries
        let retries: Set<String>? = try await client.transaction { transaction in
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

    /// A file that cannot be read has another owner or mode only, as far as can be seen: news of its
    /// task can be put in its place all the same.
    private func takeUnreadable(_ path: TaskPath) async throws {
        guard let entry = index[path], held[entry.task] == nil, let now = try? folder.stamp(path),
            entry.stamp != now, entry.stamp.hasContent(of: now)
        else { return }
        if try await isBehind(entry.task) { try await restamp(entry.task, path, now) }
    }

    /// Notes where a known file is by now that has moved without an event, and that cannot be read
    /// there, such as one that has grown too large: it has not been deleted.
    private func followUnread(_ path: TaskPath) async throws {
        guard index[path] == nil, let now = (try? folder.stamp(path)) ?? nil else { return }
        let identifier = (try? folder.identifier(path)) ?? nil
        let known = identifier.map { index.path(of: $0) } ?? index.path(withInodeOf: now)
        guard let known, folder.isAbsent(known) else { return }
        try await moved(known, path, now, afterDelete: false)
    }

    /// The file if it is there, changed, and readable; what keeps it out is noted.
    ///
    /// - Parameter replaced: gets the task whose place another one's file has taken.
    func read(
        _ path: TaskPath, settled: FileStamp?, claimed: [ImportedFile], _ replaced: inout Set<String>
    ) async throws -> ImportedFile? {
        let content: TaskFileContent
        do throws(FolderError) {
            guard let now = try folder.stamp(path) else { throw FolderError(.notFound, "\(path) has gone") }
            // The echo of what was read or written last.
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
                // Perhaps with the whole directory: when that is back, a scan looks at it.
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
        // Another file has come there since: the known one may have been renamed a moment ago, and that is told first.
        if let settled, !settled.isFile(of: content.stamp), index[path]?.stamp.isFile(of: content.stamp) == false {
            changes.noteFound(path)
            return nil
        }
        if content.bytes.isEmpty, settled?.size != 0, let entry = index[path], entry.stamp.size != 0 {
            changes.noteFound(path)
            return nil
        }
        // Read under another name a moment ago, and put here since: that is told of next.
        if claimed.contains(where: { $0.stamp.isFile(of: content.stamp) && folder.isAbsent($0.path) }) { return nil }
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
        let identifier = try? folder.identifier(path)
        // Another file may have just been put there: whose that is says nothing of this text.
        if let identifier, identifier != index[path]?.task,
            (try? folder.stamp(path))?.isFile(of: content.stamp) != true
        {
            changes.noteFound(path)
            return nil
        }
        var (task, isNew) = try await identify(path, content, identifier, claimed: claimed, &replaced)
        if isNew, try await waitsForItsTask(path, identifier, claimed: claimed) { return nil }
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
        // A move that nobody was told of: into a directory that was new itself, or while nobody watched.
        let origin = movedFrom.removeValue(forKey: path)
        let old = isNew ? nil : index.path(of: task).flatMap { $0 == path ? nil : $0 }
        var stamp = content.stamp
        // Also of a known one, where its editor has put a new file in its place: under another name
        // nothing else tells whose it is.
        if identifier != task {
            if let changed = try? folder.setIdentifier(path, to: task, of: stamp) {
                stamp = changed
            } else if folder.isAbsent(path) {
                // It has just got another name, and is read under that: nothing of it would be on
                // the disk, nor a mark in it.
                changes.askForScan()
                return nil
            }
        }
        return ImportedFile(
            path: path, stamp: stamp, file: file, task: task, isNew: isNew, source: old ?? origin,
            attachmentSource: old, deleted: deleted, joined: joined?.row)
    }

    /// The limit of documents that a task's file would break; `nil` if it keeps them all. The
    /// remote would refuse such a file, and everything later of the task with it.
    private func limitProblem(of file: TaskFile, at path: TaskPath, _ task: String) async throws -> SyncProblem? {
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

    /// Files up to this size fit into a document with up to 100 attachments, whatever is in them.
    private static let surelySmall = 300_000

    /// `kebab-case` of a case's name.
    static func word(_ code: some Any) -> String {
        var word = ""
        for character in "\(code)" {
            if character.isUppercase { word += "-" }
            word += character.lowercased()
        }
        return word
    }
}
