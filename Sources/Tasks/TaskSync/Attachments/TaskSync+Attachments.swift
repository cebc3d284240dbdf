import DocumentClient
import DocumentModel
import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// Keeps attachments in step: the files in `X.files` and the field `attachments` of documents.
extension TaskSync {
    // MARK: From files

    /// Queues the upload of an attachment's file that is new or has changed.
    ///
    /// - Parameter isEvent: Whether an event reported the file as changed. On a file system with
    ///   coarse times its content is then hashed although it has the known stamp.
    func noteAttachment(_ path: TaskPath, _ known: FileStamp? = nil, isEvent: Bool = false) async {
        guard let stamp = known ?? (try? folder.stamp(path)) ?? nil else { return attachments.remove(orphan: path) }
        if !folderProblems.isEmpty { folderProblems = folderProblems.filter { $0.value.subject != path.string } }
        guard let entry = index[path.taskFileOfAttachments] else {
            attachments.note(orphan: path)
            return
        }
        if withoutRoom[entry.task]?.names.contains(ExactText(path.name)) == true { return }
        let row = attachments.row(of: entry.task, named: path.name)
        if let row, row.stamp == stamp, !(isEvent && stamp.isCoarse) { return }
        if await isDeclined(entry.task, path, stamp) { return }
        // A program renames the file when it is complete.
        if row == nil, Self.isPartial(path.name), !attachedPartials.contains(Self.partialKey(entry.task, path.name)) {
            return
        }
        queueUpload(entry.task, path.name, size: stamp.size, stamp)
    }

    /// Reports that something other than a file, or something that cannot be examined, is at the
    /// path of an attachment.
    func noteObstructed(attachment path: TaskPath) {
        do throws(FolderError) {
            _ = try folder.stamp(path)
        } catch {
            guard error.code == .wrongKind else { return }
            note(
                folder: SyncProblem(
                    code: Self.word(error.code), subject: path.string,
                    message: "\(path) is no regular file and is left alone; put the file itself there"))
        }
    }

    /// Whether a name is one that browsers and editors give to unfinished files.
    static func isPartial(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".part", ".partial", ".crdownload", "~"].contains { name.hasSuffix($0) }
    }

    static func partialKey(_ task: TaskID, _ name: String) -> String { "up \(task) \(name)" }

    /// Remembers, across restarts, that a file is complete although it has the name of an
    /// unfinished one; or forgets that.
    func setAttachedPartial(_ key: String, _ isAttached: Bool) async throws {
        var partials = attachedPartials
        if isAttached { partials.insert(key) } else { partials.remove(key) }
        guard partials != attachedPartials else { return }
        let text = partials.sorted().joined(separator: "\n")
        try await client.transaction { try SyncTables($0).setState("attached-partials", text) }
        attachedPartials = partials
    }

    func noteAttachments(of task: TaskID, at path: TaskPath) async {
        for orphan in attachments.takeOrphans(of: path) { await noteAttachment(orphan) }
    }

    /// Finds the files in attachment directories that were renamed, which belong to other tasks
    /// now, in one scan.
    func noteMovedAttachments() async {
        guard !movedAttachmentDirectories.isEmpty else { return }
        let directories = movedAttachmentDirectories
        movedAttachmentDirectories = []
        var found: [ScannedFile] = []
        let scan = try? folder.scan(.look) { file in
            if file.isAttachment, directories.contains(where: { file.path.isBeneath($0) }) { found.append(file) }
        }
        for file in found { await noteAttachment(file.path, file.stamp) }
        // Events have reported the files that left under their old paths only.
        if let scan { noteMissingAttachments(scan, found: found.map(\.path), within: directories) }
    }

    /// Records attachment files that a scan did not find although it would have.
    ///
    /// - Parameter directories: The directories that were scanned for them; nil for all.
    func noteMissingAttachments(_ scan: FolderScan, found: [TaskPath], within directories: Set<TaskPath>? = nil) {
        guard !isReadopted, !isHiding(in: scan) else { return }
        let missing = missingAttachments(scan, found: found).filter { path in
            directories.map { $0.contains(path.parent) } ?? true
        }
        if !missing.isEmpty { changes.noteMissing(missing) }
    }

    /// Returns the known attachment files that a scan would have found and did not.
    func missingAttachments(_ scan: FolderScan, found: [TaskPath]) -> [TaskPath] {
        let present = Set(found)
        return attachments.all.compactMap { path(of: $0) }.filter { !present.contains($0) && scan.sees($0) }
    }

    /// Detaches attachments whose files the user removed. Those of one task are detached together,
    /// because each change of a document with thousands of attachments reads and writes all of it.
    func attachmentsRemoved(_ paths: [TaskPath]) async throws {
        var rows: [TaskID: [AttachmentRow]] = [:]
        var fitting: Set<TaskID> = []
        for path in paths {
            attachments.remove(orphan: path)
            guard let entry = index[path.taskFileOfAttachments], held[entry.task] == nil, folder.isAbsent(path) else {
                continue
            }
            if withoutRoom[entry.task]?.names.remove(ExactText(path.name)) != nil { fitting.insert(entry.task) }
            try await setDeclined(Self.partialKey(entry.task, path.name), nil, at: nil)
            let upload = transfers.current(.init(upload: path.name, of: entry.task))
            await endPointless(upload.map { [$0] } ?? [])
            if let row = attachments.row(of: entry.task, named: path.name) { rows[entry.task, default: []].append(row) }
        }
        for task in fitting { tellWithoutRoom(of: task) }
        for (task, removed) in rows.sorted(by: { $0.key < $1.key }) {
            for start in stride(from: 0, to: removed.count, by: Self.attachmentsAtOnce) {
                try await detach(removed[start...].prefix(Self.attachmentsAtOnce).map(\.attachment), of: task)
            }
        }
    }

    private func detach(_ removed: [AttachmentID], of task: TaskID) async throws {
        let (userID, merge) = (configuration.userID, DocumentID.make(in: environment))
        let now = configuration.wallClock()
        try await client.transaction { transaction in
            for attachment in removed { try SyncTables(transaction).remove(attachment: attachment, of: task) }
            let steps = try Self.setAttachments(
                Dictionary(uniqueKeysWithValues: Set(removed).map { ($0, nil) }), of: task, as: .beside,
                userID: userID, merge: merge, transaction)
            // Each of them can be undone separately.
            for step in steps { try UndoSteps(transaction).add([step], at: now) }
        }
        for attachment in removed { attachments.remove(attachment, of: task) }
    }

    /// Changes one attachment in a transaction; see the static function of this name.
    func setAttachment(
        _ attachment: AttachmentID, of task: TaskID, to value: Value?, as kind: UndoStep.Kind
    ) async throws {
        let (userID, merge) = (configuration.userID, DocumentID.make(in: environment))
        let now = configuration.wallClock()
        try await client.transaction { transaction in
            let step = try Self.setAttachment(
                attachment, of: task, to: value, as: kind, userID: userID, merge: merge, transaction)
            try UndoSteps(transaction).add(step.map { [$0] } ?? [], at: now)
        }
    }

    /// Returns the path of an attachment's file.
    func path(of row: AttachmentRow) -> TaskPath? {
        guard let file = index.path(of: row.task) else { return nil }
        return try? file.attachmentsDirectory().appending(row.name)
    }

    /// Returns the stamp of an attachment's file: the present one if only its mode, its owner or
    /// its attributes have changed since.
    func stamp(of row: AttachmentRow, at path: TaskPath) -> FileStamp {
        guard let now = try? folder.stamp(path), now.hasContent(of: row.stamp) else { return row.stamp }
        return now
    }

    // MARK: Limits

    /// Reports files that stay on this machine because the document of their task has no room for
    /// more attachments.
    func noteWithoutRoom(_ names: [String], of task: TaskID, used: Int) {
        withoutRoom[task, default: ([], used)].names.formUnion(names.map { ExactText($0) })
        withoutRoom[task]?.used = used
        tellWithoutRoom(of: task)
    }

    private func tellWithoutRoom(of task: TaskID) {
        let key = "no room \(task)"
        guard let full = withoutRoom[task], !full.names.isEmpty else {
            withoutRoom[task] = nil
            problems[key] = nil
            return
        }
        let (count, attached) = (full.names.count, attachments.rows(of: task).count)
        note(
            SyncProblem(
                code: "too-large", subject: index.path(of: task)?.string ?? catalog[task]?.title,
                message:
                    "\(count == 1 ? "1 file beside it is" : "\(count) files beside it are") not attached: its text and "
                    + "\(attached) attachments take \(full.used) of the \(DocumentLimits.maximumSize) bytes that a task may have.",
                hint:
                    "Move files to another task, or pack them into one; what fits then is attached without further ado."
            ),
            for: key)
    }

    /// Tries the files again for which a task had no room, if it has more now.
    ///
    /// - Parameter view: The task's document; nil if the task is gone.
    private func attachWithoutRoom(_ task: TaskID, _ view: DocumentSnapshot?) async {
        guard let full = withoutRoom[task] else { return }
        guard let view,
            let directory = try? index.path(of: task)?.attachmentsDirectory()
        else {
            withoutRoom[task] = nil
            return tellWithoutRoom(of: task)
        }
        var room = AttachmentRoom(view, userID: configuration.userID)
        let fitting = full.names.sorted { $0.string < $1.string }.filter { room.take($0.string) }
        guard !fitting.isEmpty else { return }
        withoutRoom[task]?.names.subtract(fitting)
        tellWithoutRoom(of: task)
        for name in fitting {
            if let path = try? directory.appending(name.string) { await noteAttachment(path) }
        }
    }

    // MARK: Moves

    /// Moves the attachments of files that have moved, also if files exchanged their names.
    func moveAttachments(of files: [ImportedFile]) {
        let moved = files.compactMap { file in file.attachmentSource.map { (file: file, source: $0) } }
        let sources = Set(moved.map(\.source))
        let targets = Set(moved.map(\.file.path))
        let isTangled = { (move: (file: ImportedFile, source: TaskPath)) in
            sources.contains(move.file.path) || targets.contains(move.source)
        }
        for move in moved where !isTangled(move) { moveAttachments(from: move.source, to: move.file.path) }
        let tangled = moved.filter(isTangled)
        guard !tangled.isEmpty else { return }
        var wanted: [TaskPath: TaskPath] = [:]
        for (file, source) in tangled {
            guard let old = try? source.attachmentsDirectory(), let new = try? file.path.attachmentsDirectory() else {
                continue
            }
            // The user may have moved them already.
            let places = [new, old] + tangled.compactMap { try? $0.file.path.attachmentsDirectory() }
            if let place = places.first(where: { hasAttachments(of: file.task, in: $0) }) {
                if place != new { wanted[place] = new }
            } else if (try? folder.hasDirectory(old)) == true,
                !tangled.contains(where: { hasAttachments(of: $0.file.task, in: old) })
            {
                wanted[old] = new
            }
        }
        // This includes those that the user has moved: files that were examined before the events
        // arrived were assigned to the other task.
        let directories = tangled.flatMap { [$0.source, $0.file.path] }.compactMap { try? $0.attachmentsDirectory() }
        movedAttachmentDirectories.formUnion(directories)
        movedAttachmentDirectories.formUnion(wanted.keys)
        arrangeAttachments(wanted)
    }

    /// Whether a directory contains a file that is known as an attachment of a task.
    private func hasAttachments(of task: TaskID, in directory: TaskPath) -> Bool {
        attachments.rows(of: task).values.contains { row in
            guard let path = try? directory.appending(row.name) else { return false }
            return (try? folder.stamp(path))?.isFile(of: row.stamp) == true
        }
    }

    /// Renames attachment directories, each when its new name is free. The last ones of a cycle
    /// exchange their names.
    private func arrangeAttachments(_ names: [TaskPath: TaskPath]) {
        var wanted = names
        while true {
            let order = wanted.sorted { $0.key < $1.key }
            guard let (place, target) = order.first(where: { wanted[$0.value] == nil }) ?? order.first else { return }
            wanted[place] = nil
            do throws(FolderError) {
                guard let next = wanted[target] else {
                    // If another directory was put there, both stay, and their files are examined.
                    _ = try folder.move(place, to: target, expecting: .anything)
                    continue
                }
                try folder.exchange(place, target)
                wanted[target] = nil
                if next != place { wanted[place] = next }
            } catch {
                note(
                    SyncProblem(
                        code: "attachments-left", subject: place.string,
                        message: "The attachments could not follow the task: \(error.message)",
                        hint: "Move them to \(target.string) by hand."), for: place.string)
            }
        }
    }

    /// Renames `X.files` after `X.md` was renamed.
    func moveAttachments(from: TaskPath, to: TaskPath) {
        guard let source = try? from.attachmentsDirectory(), let target = try? to.attachmentsDirectory(),
            source != target
        else { return }
        do throws(FolderError) {
            switch try folder.move(source, to: target, expecting: .anything) {
            case .moved: break
            case .exists where folder.isAbsent(from): try uniteAttachments(source, target)
            case .exists:
                // Another task has the old name now and owns the attachments there.
                movedAttachmentDirectories.formUnion([source, target])
            case .changed:
                // Events have reported the files that left the old name under that only.
                let rows = (index[from] ?? index[to]).map { attachments.rows(of: $0.task) } ?? [:]
                let paths = rows.values.compactMap { try? target.appending($0.name) }
                if paths.contains(where: folder.isAbsent) { movedAttachmentDirectories.insert(target) }
            }
        } catch {
            guard error.code != .notFound else {
                // Their directory may have just been renamed, which is reported next.
                let task = (index[from] ?? index[to])?.task
                if let task, !attachments.rows(of: task).isEmpty { strandedAttachments[from] = task }
                return
            }
            note(
                SyncProblem(
                    code: "attachments-left", subject: source.string,
                    message: "The attachments could not follow the task: \(error.message)",
                    hint: "Move them to \(target.string) by hand."), for: source.string)
        }
    }

    /// Moves attachments that could not follow their tasks before a directory above them was
    /// renamed.
    func moveStrandedAttachments(_ from: TaskPath, _ to: TaskPath) {
        for (file, task) in strandedAttachments where file.isBeneath(from) {
            strandedAttachments[file] = nil
            guard let path = index.path(of: task) else { continue }
            moveAttachments(from: file.moved(from: from, to: to), to: path)
        }
    }

    /// Adds the attachments at a task's old name to those that a user has already put at its new
    /// name.
    private func uniteAttachments(_ source: TaskPath, _ target: TaskPath) throws(FolderError) {
        var files: [TaskPath] = []
        _ = try folder.scan(.look) { file in
            if file.isAttachment, file.path.parent == source { files.append(file.path) }
        }
        try moveFiles(files, to: target)
        _ = try folder.removeDirectoryIfEmpty(source)
    }

    /// Moves attachment files into another task's directory, with a number if the name is taken.
    func moveFiles(_ files: [TaskPath], to target: TaskPath) throws(FolderError) {
        movedAttachmentDirectories.insert(target)
        for file in files.sorted() {
            for number in 1...99 {
                guard let place = try? target.appending(Self.fileName(file.name, number)),
                    case .exists = try folder.move(file, to: place, expecting: .anything)
                else { break }
            }
        }
    }

    // MARK: From documents

    /// Queues the downloads of attachments that a document has and this machine lacks, and removes
    /// the files of those that other machines have detached.
    func exportAttachments(of view: DocumentSnapshot) async {
        let task = view.name.task
        // The key is the task, because its file may have another name now.
        problems["detach \(task)"] = nil
        let fields = view.fields(pendingTimes: .previous)
        let isLiving = view.exists && !TaskItem(withoutAttachments: fields).isDeleted
        if withoutRoom[task] != nil { await attachWithoutRoom(task, isLiving ? view : nil) }
        let wanted = isLiving ? TaskItem.attachments(in: fields) : [:]
        await endPointless(
            transfers.current(of: task).filter {
                !$0.isUpload && wanted[$0.attachment?.rawValue ?? ""]?.mapValue == nil
            })
        guard isLiving else { return }
        let rows = attachments.rows(of: task)
        forgetDamage(task)
        for (key, value) in wanted {
            let id = AttachmentID(key)
            // Most attachments are here, and only the necessary fields of those are read.
            if let row = rows[id], let map = value.mapValue, map["sha256"] == .string(row.sha256), map["damaged"] == nil
            {
                continue
            }
            guard let attachment = TaskAttachment(value) else { continue }
            if rows[id]?.sha256 == attachment.sha256 {
                if attachment.isDamaged, let row = rows[id] { queueRepair(row, attachment) }
                continue
            }
            if attachment.isDamaged {
                // A machine that has the content uploads it again. The download is tried
                // nevertheless, because the mark may be a mistake.
                noteDamage(task, id, attachment.name, attachment.sha256)
            }
            // A file that was here before is wanted here.
            let limit = rows[id] == nil && !pinned.contains(task) ? configuration.downloadsUpTo : nil
            if let limit, attachment.size ?? 0 > limit { continue }
            queueDownload(task, id, attachment, limit: limit)
        }
        for (id, row) in rows where wanted[id.rawValue]?.mapValue == nil { await removeDetached(row) }
        try? await renameAttachments(of: task, wanted)
    }

    private func removeDetached(_ row: AttachmentRow) async {
        guard let path = path(of: row) else { return }
        problems[path.string] = nil
        var isGone = false
        do throws(FolderError) {
            let outcome = try folder.trash([TrashItem(path: path, expecting: .stamp(stamp(of: row, at: path)))])
            if case .changed(_, let stamp) = outcome {
                isGone = stamp == nil
                if let stamp {
                    // The file was changed here in the meantime: the edit survives as a new
                    // attachment.
                    attachments.remove(row.attachment, of: row.task)
                    queueUpload(row.task, row.name, size: stamp.size)
                }
            }
        } catch {
            guard error.code == .notFound else {
                note(
                    SyncProblem(
                        code: "not-removed", subject: path.string, message: error.message,
                        hint: "It was detached elsewhere, and is tried again by itself."), for: "detach \(row.task)")
                retries.insert(row.task)
                return
            }
            isGone = true
        }
        // While the whole directory is missing, nothing in it was deleted.
        if isGone, (try? await checkRoot()) != true {
            retries.insert(row.task)
            return
        }
        attachments.remove(row.attachment, of: row.task)
        try? await client.transaction { try SyncTables($0).remove(attachment: row.attachment, of: row.task) }
        _ = try? folder.removeDirectoryIfEmpty(path.parent)
    }

    /// Returns a file's name for an attachment's name, which may be any text: no path, not hidden,
    /// and not too long; `name (2).ext` if the first is taken.
    static func fileName(_ name: String, _ number: Int) -> String {
        let safe = TaskFileName.attachment(for: name)
        return TaskFileName.attachment(for: TaskPath.isIgnored(safe) ? "\(safe)-" : safe, number: number)
    }

    /// Whether a file has a numbered form of a name because another file had the name.
    static func isNumbered(_ file: String, of name: String) -> Bool {
        file.contains(" (") && (2...99).contains { fileName(name, $0).utf8.elementsEqual(file.utf8) }
    }
}
