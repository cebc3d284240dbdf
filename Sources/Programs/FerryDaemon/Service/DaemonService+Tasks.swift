import Control
import DocumentModel
import Synchronization
import TaskModel
import TaskSync

extension DaemonService {
    /// Returns the tasks that match a filter, in their state at the time of the call.
    func tasks(_ filter: TaskFilter) async throws -> TaskListing {
        let sync = try await stack().sync
        let (matching, names) = try Self.tasks(filter, in: await sync.catalog)
        let tasks = try await Self.tasks(matching, containing: filter.texts, sync)
        let conflicts = try await sync.conflictedTasks()
        let next = Mutex(0)
        return TaskListing {
            let page = next.withLock { next in
                defer { next = min(next + Self.pageSize, tasks.count) }
                return tasks[next..<min(next + Self.pageSize, tasks.count)]
            }
            return page.isEmpty ? nil : await sync.summaries(of: page, names, conflicts)
        }
    }

    /// Returns the tasks whose title or notes contain all texts.
    private static func tasks(
        _ tasks: [TaskCatalog.Box], containing texts: [String], _ sync: TaskSync
    ) async throws -> [TaskCatalog.Box] {
        let words = texts.map(SearchWord.init).filter { !$0.isEmpty }
        guard !words.isEmpty else { return tasks }
        let titles = Dictionary(uniqueKeysWithValues: tasks.map { ($0.entry.id, $0.entry.title) })
        let found = try await sync.tasks(tasks.map(\.entry.id)) { id, notes in
            words.allSatisfy { $0.isIn(notes) || (titles[id].map($0.isIn) ?? false) }
        }
        return tasks.filter { found.contains($0.entry.id) }
    }

    private static let pageSize = 1000

    /// Returns the matching tasks in display order. This is a separate function so that the catalog
    /// is released before the list is sent; a change made meanwhile would otherwise copy it.
    private static func tasks(
        _ filter: TaskFilter, in catalog: TaskCatalog
    ) throws -> (tasks: [TaskCatalog.Box], listNames: [ListID: String]) {
        let query = try TaskQuery(filter, listNames: catalog.listNames)
        guard let order = TaskOrder.Key(rawValue: filter.sort ?? TaskOrder.Key.due.rawValue) else {
            throw ControlError(
                .invalidArgument, "Tasks cannot be sorted by '\(filter.sort ?? "")'.",
                hint: "One of due, priority, title.")
        }
        let found = catalog.livingBoxes.filter { query.matches($0.entry) }
        return (TaskOrder.sorted(found, by: order), catalog.listNames)
    }

    func task(_ task: String) async throws -> TaskDetail {
        let id = try await lookup.resolve(task)
        return try await asking { sync in
            let detail = try await sync.detail(id)
            let transfers = await sync.allTransfers
            let item = detail.item
            let names = item.attachmentNames
            let named = item.attachments.map { id, attachment in
                var attachment = attachment
                attachment.name = names[id] ?? attachment.name
                return (id, attachment)
            }
            let attachments = named.sorted { ($0.1.name, $0.0) < ($1.1.name, $1.0) }.map {
                AttachmentSummary($0.0, $0.1, task: id, path: detail.attachmentPaths[$0.0], transfers)
            }
            // Files that are still being uploaded have no attachment yet.
            let coming = transfers.filter { transfer in
                transfer.task == id && transfer.isUpload && !transfer.phase.isOver
                    && !attachments.contains { $0.name == transfer.name }
            }
            var shown = TaskDetail(
                summary: try await lookup.summary(of: id), notes: item.notes,
                fields: item.fields.mapValues(ValueText.text),
                attachments: attachments + coming.map(AttachmentSummary.init),
                createdTime: item.createdTime?.rfc3339, updatedTime: item.updatedTime?.rfc3339,
                completedTime: item.completedTime?.rfc3339, remarks: detail.remarks)
            shown.checklist = Checklist(item.notes).items.map { ChecklistItem(text: $0.text, isDone: $0.isDone) }
            shown.isPinned = detail.isPinned
            shown.head = detail.head
            if attachments.contains(where: { $0.state == .damaged }) {
                let (origins, words) = (try await sync.origins(of: id), try await lookup.historyWords())
                shown.remarks += attachments.filter { $0.state == .damaged }.map { words.repair(of: $0, origins) }
            }
            return shown
        }
    }

    func add(_ changes: [TaskChange]) async throws -> [AddResult] {
        guard changes.count <= ControlLimit.newTasks else {
            throw ControlError(
                .tooLarge, "\(changes.count) tasks are too many for one call.",
                hint: "Add at most \(ControlLimit.newTasks) at a time.")
        }
        let edits = changes.map { change in Result { try Self.newTask(change) } }
        let new = edits.compactMap { try? $0.get() }
        let results = try await asking { try await $0.add(new) }
        let sync = try await stack().sync
        // A task that was added has the id of its key.
        let ids = Set(results.compactMap { try? $0.get() } + new.compactMap(\.importKey).map(sync.importedID))
        let summaries = Dictionary(
            try await lookup.summaries(of: Array(ids), sync).map { (TaskID($0.id), $0) },
            uniquingKeysWith: { first, _ in first })
        var next = results.makeIterator()
        return zip(changes, edits).map { change, edit in
            do {
                let edit = try edit.get()
                guard let id = try next.next()?.get() else { throw ControlError(.internal, "The task was not added.") }
                return .added(summaries[id] ?? TaskSummary(id, edit, change))
            } catch {
                var error = ControlError(any: error)
                if error.code == .alreadyThere, let key = change.importKey {
                    error.candidates = summaries[sync.importedID(key)].map { [$0] } ?? []
                }
                return .refused(error)
            }
        }
    }

    private static func newTask(_ change: TaskChange) throws -> TaskEdit {
        var edit = try TaskEdit(change)
        edit.dropTextsOfHead()
        guard edit.title ?? edit.fileName != nil else { throw ControlError(.invalidArgument, "A task needs a title.") }
        return edit
    }

    func change(_ task: String, _ change: TaskChange) async throws -> TaskSummary {
        var edit = try TaskEdit(change)
        if let snooze = change.snooze { edit.snooze = try await self.snooze(snooze) }
        let id = try await lookup.resolve(task)
        try await asking { try await $0.edit(id, edit) }
        return try await lookup.summary(of: id)
    }
}

extension DaemonService {
    /// Returns the snooze until a time, by the user of this machine.
    private func snooze(_ text: String) async throws -> TaskEdit.Snooze {
        let until = text.isEmpty ? nil : Timestamp(rfc3339: text)
        guard text.isEmpty || until != nil else {
            throw ControlError(.invalidArgument, "'\(text)' is not a time in RFC 3339.")
        }
        return TaskEdit.Snooze(user: await identity.user, until: until)
    }
}

extension TaskSummary {
    /// Creates the summary of a new task that the catalog does not have: in a trial, or while
    /// syncing is paused.
    fileprivate init(_ id: TaskID, _ edit: TaskEdit, _ change: TaskChange) {
        self.init(
            id: id.rawValue, title: edit.title ?? edit.fileName ?? "", isCompleted: edit.isCompleted ?? false,
            priority: change.priority ?? .none, due: change.due.flatMap { $0.isEmpty ? nil : $0 },
            tags: change.tags ?? change.addTags, list: edit.listName ?? "", sync: .pending)
    }
}

extension AttachmentSummary {
    fileprivate init(
        _ id: AttachmentID, _ attachment: TaskAttachment, task: TaskID, path: String?, _ transfers: [Transfer]
    ) {
        let running = transfers.last { $0.task == task && $0.attachment == id }
        let state: State =
            if path != nil {
                running.map { $0.isUpload && !$0.phase.isOver } ?? false ? .uploading : .here
            } else {
                switch running?.phase {
                case .running?: .downloading
                case .waiting? where attachment.isDamaged: .damaged
                case .queued?, .paused?, .waiting?: .waiting
                case .failed?: .damaged
                case .done?, .cancelled?, nil:
                    if attachment.isDamaged { .damaged } else { attachment.manifest == nil ? .waiting : .remote }
                }
            }
        self.init(
            id: id.rawValue, name: attachment.name, mimeType: attachment.mimeType ?? "application/octet-stream",
            size: attachment.size ?? 0, sha256: attachment.sha256 ?? "", state: state, path: path)
    }

    /// Creates the summary of a file that is being uploaded.
    fileprivate init(_ transfer: Transfer) {
        self.init(
            id: transfer.attachment?.rawValue ?? transfer.id, name: transfer.name, mimeType: "application/octet-stream",
            size: transfer.size, sha256: "", state: transfer.phase == .running ? .uploading : .waiting)
    }
}
