import DocumentClient
import DocumentModel
import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// Attachments: the files in `X.files` and the `attachments` of documents.
extension TaskSync {
    // MARK: From files

    /// Queues the upload of an attachment's file that is new or has changed.
    ///
    /// - Parameter isEvent: Whether the file was reported as changed, not only found. On a file system with coarse times
    ///   its content is then hashed although its stamp is the known one.
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
        // It gets its real name when it is complete.
        if row == nil, Self.isPartial(path.name), !attachedPartials.contains(Self.partialKey(entry.task, path.name)) {
            return
        }
        queueUpload(entry.task, path.name, size: stamp.size, stamp)
    }

    /// Something has taken an attachment's place, or one that cannot be seen: what is no file is told of.
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

    /// Whether a file's name is one that browsers and editors give to what they have not finished.
    static func isPartial(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".part", ".partial", ".crdownload", "~"].contains { name.hasSuffix($0) }
    }

    static func partialKey(_ task: String, _ name: String) -> String { "up \(task) \(name)" }

    /// Remembers, across restarts, that a file is complete although its name says otherwise; or forgets it.
    func setAttachedPartial(_ key: String, _ isAttached: Bool) async throws {
        var partials = attachedPartials
        if isAttached { partials.insert(key) } else { partials.remove(key) }
        guard partials != attachedPartials else { return }
        let text = partials.sorted().joined(separator: "\n")
        try await client.transaction { try SyncTables($0).setState("attached-partials", text) }
        attachedPartials = partials
    }

    func noteAttachments(of task: String, at path: TaskPath) async {
        for orphan in attachments.takeOrphans(of: path) { await noteAttachment(orphan) }
    }

    /// Directories of attachments have new names; what is in them belongs to other tasks now. One
    /// look finds it for all of them.
    func noteMovedAttachments() async {
        guard !movedAttachmentDirectories.isEmpty else { return }
        let directories = movedAttachmentDirectories
        movedAttachmentDirectories = []
        var found: [ScannedFile] = []
        let scan = try? folder.scan(.look) { file in
            if file.isAttachment, directories.contains(where: { file.path.isBeneath($0) }) { found.append(file) }
        }
        for file in found { await noteAttachment(file.path, file.stamp) }
        // What went from there under the old name is told of for that only.
        if let scan { noteMissingAttachments(scan, found: found.map(\.path), within: directories) }
    }

    /// Files of attachments that a scan did not find, where it could have seen them.
    ///
    /// - Parameter directories: where it was looked for them; nil: everywhere.
    func noteMissingAttachments(_ scan: FolderScan, found: [TaskPath], within directories: Set<TaskPath>? = nil) {
        guard !isReadopted, !isHiding(in: scan) else { return }
        let missing = missingAttachments(scan, found: found).filter { path in
            directories.map { $0.contains(path.parent) } ?? true
        }
        if !missing.isEmpty { changes.noteMissing(missing) }
    }

    /// Known files of attachments that a scan would have found, and did not.
    func missingAttachments(_ scan: FolderScan, found: [TaskPath]) -> [TaskPath] {
        let present = Set(found)
        return attachments.all.compactMap { path(of: $0) }.filter { !present.contains($0) && scan.sees($0) }
    }

    /// The user removed files of attachments: they are detached. Those of one task go together,
    /// since each change of a document with thousands of attachments reads and writes all of it.
    func attachmentsRemoved(_ paths: [TaskPath]) async throws {
        var rows: [String: [AttachmentRow]] = [:]
        var fitting: Set<String> = []
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

    private func detach(_ removed: [String], of task: String) async throws {
        let (userID, merge) = (configuration.userID, DocumentID.make(in: environment))
        let now = configuration.wallClock()
        try await client.transaction { transaction in
            for attachment in removed { try SyncTables(transaction).remove(attachment: attachment, of: task) }
            let steps = try Self.setAttachments(
                Dictionary(uniqueKeysWithValues: Set(removed).map { ($0, nil) }), of: task, as: .beside,
                userID: userID, merge: merge, transaction)
            // Each can be undone by itself.
            for step in steps { try UndoSteps(transaction).add([step], at: now) }
        }
        for attachment in removed { attachments.remove(attachment, of: task) }
    }

    /// See the function of this name that does it in a transaction.
    func setAttachment(
        _ attachment: String, of task: String, to value: Value?, as kind: UndoStep.Kind
    ) async throws {
        let (userID, merge) = (configuration.userID, DocumentID.make(in: environment))
        let now = configuration.wallClock()
        try await client.transaction { transaction in
            let step = try Self.setAttachment(
                attachment, of: task, to: value, as: kind, userID: userID, merge: merge, transaction)
            try UndoSteps(transaction).add(step.map { [$0] } ?? [], at: now)
        }
    }

    /// Where an attachment's file is.
    func path(of row: AttachmentRow) -> TaskPath? {
        guard let file = index.path(of: row.task) else { return nil }
        return try? file.attachmentsDirectory().appending(row.name)
    }

    /// The stamp of an attachment's file: as it is now where only its mode, its owner or its
    /// attributes have changed since.
    func stamp(of row: AttachmentRow, at path: TaskPath) -> FileStamp {
        guard let now = try? folder.stamp(path), now.hasContent(of: row.stamp) else { return row.stamp }
        return now
    }

    // MARK: Limits

    /// Files stay on this machine because the document of their task has no room for more attachments.
    func noteWithoutRoom(_ names: [String], of task: String, used: Int) {
        withoutRoom[task, default: ([], used)].names.formUnion(names.map { ExactText($0) })
        withoutRoom[task]?.used = used
        tellWithoutRoom(of: task)
    }

    private func tellWithoutRoom(of task: String) {
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

    /// Tries the files again that a task had no room for, if there is more room by now.
    ///
    /// - Parameter view: The task's document; `nil` if the task is gone.
    private func attachWithoutRoom(_ task: String, _ view: DocumentSnapshot?) async {
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

    /// The attachments of files that have moved follow them, also where names went round in a circle.
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
        // Also where the user has moved them: what was looked at before that was told counted as the other task's.
        let directories = tangled.flatMap { [$0.source, $0.file.path] }.compactMap { try? $0.attachmentsDirectory() }
        movedAttachmentDirectories.formUnion(directories)
        movedAttachmentDirectories.formUnion(wanted.keys)
        arrangeAttachments(wanted)
    }

    /// Whether a directory has a file that is known as an attachment of a task.
    private func hasAttachments(of task: String, in directory: TaskPath) -> Bool {
        attachments.rows(of: task).values.contains { row in
            guard let path = try? directory.appending(row.name) else { return false }
            return (try? folder.stamp(path))?.isFile(of: row.stamp) == true
        }
    }

    /// Gives directories of attachments their new names, each only once that is free; the last ones
    /// of a circle exchange theirs.
    private func arrangeAttachments(_ names: [TaskPath: TaskPath]) {
        var wanted = names
        while true {
            let order = wanted.sorted { $0.key < $1.key }
            guard let (place, target) = order.first(where: { wanted[$0.value] == nil }) ?? order.first else { return }
            wanted[place] = nil
            do throws(FolderError) {
                guard let next = wanted[target] else {
                    // Where somebody has put others there, both stay, and what is in them is looked at.
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

    /// `X.files` follows `X.md`.
    func moveAttachments(from: TaskPath, to: TaskPath) {
        guard let source = try? from.attachmentsDirectory(), let target = try? to.attachmentsDirectory(),
            source != target
        else { return }
        do throws(FolderError) {
            switch try folder.move(source, to: target, expecting: .anything) {
            case .moved: break
            case .exists where folder.isAbsent(from): try uniteAttachments(source, target)
            case .exists:
                // Another task has the old name by now, and what is beside it is that one's.
                movedAttachmentDirectories.formUnion([source, target])
            case .changed:
                // What went from the old name before was told of for that only.
                let rows = (index[from] ?? index[to]).map { attachments.rows(of: $0.task) } ?? [:]
                let paths = rows.values.compactMap { try? target.appending($0.name) }
                if paths.contains(where: folder.isAbsent) { movedAttachmentDirectories.insert(target) }
            }
        } catch {
            guard error.code != .notFound else {
                // Perhaps their directory has just got another name, which is told of next.
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

    /// Those that could not follow their tasks before a directory above them got another name follow from there.
    func moveStrandedAttachments(_ from: TaskPath, _ to: TaskPath) {
        for (file, task) in strandedAttachments where file.isBeneath(from) {
            strandedAttachments[file] = nil
            guard let path = index.path(of: task) else { continue }
            moveAttachments(from: file.moved(from: from, to: to), to: path)
        }
    }

    /// Somebody has put attachments beside a task's new name already: those that were beside the old one come to them.
    private func uniteAttachments(_ source: TaskPath, _ target: TaskPath) throws(FolderError) {
        var files: [TaskPath] = []
        _ = try folder.scan(.look) { file in
            if file.isAttachment, file.path.parent == source { files.append(file.path) }
        }
        try moveFiles(files, to: target)
        _ = try folder.removeDirectoryIfEmpty(source)
    }

    /// Moves files of attachments to where another task's are, each with a number where its name is taken.
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

    /// Queues what a document has and this machine lacks; takes away what others have detached.
    func exportAttachments(of view: DocumentSnapshot) async {
        let task = view.name.id
        // By the task, as its file may have another name by now.
        problems["detach \(task)"] = nil
        let fields = view.fields(pendingTimes: .previous)
        let isLiving = view.exists && !TaskItem(withoutAttachments: fields).isDeleted
        if withoutRoom[task] != nil { await attachWithoutRoom(task, isLiving ? view : nil) }
        let wanted = isLiving ? TaskItem.attachments(in: fields) : [:]
        await endPointless(
            transfers.current(of: task).filter { !$0.isUpload && wanted[$0.attachment ?? ""]?.mapValue == nil })
        guard isLiving else { return }
        let rows = attachments.rows(of: task)
        forgetDamage(task)
        for (id, value) in wanted {
            // Most are here: nothing of those is looked at that need not be.
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
                // A machine that has it puts it there again; it is tried all the same, as the mark may be a mistake.
                noteDamage(task, id, attachment.name, attachment.sha256)
            }
            // What was here once is wanted here.
            let limit = rows[id] == nil && !pinned.contains(task) ? configuration.downloadsUpTo : nil
            if let limit, attachment.size ?? 0 > limit { continue }
            queueDownload(task, id, attachment, limit: limit)
        }
        for (id, row) in rows where wanted[id]?.mapValue == nil { await removeDetached(row) }
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
                    // It was changed here meanwhile: the edit survives, as a new attachment.
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
        // While the whole directory is away, nothing in it is gone: the file is there again with it.
        if isGone, (try? await checkRoot()) != true {
            retries.insert(row.task)
            return
        }
        attachments.remove(row.attachment, of: row.task)
        try? await client.transaction { try SyncTables($0).remove(attachment: row.attachment, of: row.task) }
        _ = try? folder.removeDirectoryIfEmpty(path.parent)
    }

    /// A name from elsewhere as a file's name: no path, not hidden, not too long; `name (2).ext`
    /// where the first is taken.
    static func fileName(_ name: String, _ number: Int) -> String {
        let safe = TaskFileName.attachment(for: name)
        return TaskFileName.attachment(for: TaskPath.isIgnored(safe) ? "\(safe)-" : safe, number: number)
    }

    /// Whether a file has this name since another one had `name` already.
    static func isNumbered(_ file: String, of name: String) -> Bool {
        file.contains(" (") && (2...99).contains { fileName(name, $0).utf8.elementsEqual(file.utf8) }
    }
}
