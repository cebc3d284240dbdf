import Control
import DocumentModel
import TaskModel
import TaskSync

/// What gave way, why a task says what it says, and the way back.
extension DaemonService {
    func conflicts() async throws -> [ConflictSummary] {
        let words = try await historyWords()
        return try await asking { sync in
            var summaries: [ConflictSummary] = []
            for conflict in try await sync.conflicts() { summaries.append(await words.summary(of: conflict, in: sync)) }
            return summaries
        }
    }

    func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary] {
        let words = try await historyWords()
        let all = try await asking { try await $0.conflicts() }
        var chosen: [Displacement] = ids.isEmpty ? all : []
        for id in ids {
            let found = try await conflicts(meantBy: id, among: all)
            chosen += found.filter { new in !chosen.contains { $0.id == new.id } }
        }
        let settled = chosen
        return try await asking { sync in
            var summaries: [ConflictSummary] = []
            for conflict in settled { summaries.append(await words.summary(of: conflict, in: sync)) }
            try await sync.resolve(settled.map(\.id), takingDisplaced: decision == .theirs)
            return summaries
        }
    }

    /// One by the beginning of its id, or all of a task.
    private func conflicts(meantBy text: String, among all: [Displacement]) async throws -> [Displacement] {
        let found = text.isEmpty ? [] : all.filter { $0.id.hasPrefix(text) }
        if found.count == 1 { return found }
        guard found.isEmpty else {
            throw ControlError(
                .ambiguous, "Several conflicts begin with '\(text)'.",
                hint: "Use more letters of the id, or name the task.")
        }
        let task = try? await resolve(text)
        let ofTask = all.filter { $0.task == task }
        guard !ofTask.isEmpty else {
            throw ControlError(
                .notFound, "No conflict is meant by '\(text)'.", hint: "'ferry conflicts' shows them.")
        }
        return ofTask
    }

    func history(_ task: String) async throws -> [ConflictSummary] {
        let id = try await resolveAnywhere(task)
        let words = try await historyWords()
        return try await asking { sync in
            var summaries: [ConflictSummary] = []
            for entry in try await sync.history(of: id) { summaries.append(await words.summary(of: entry, in: sync)) }
            return summaries
        }
    }

    func explanation(_ task: String) async throws -> TaskExplanation {
        let id = try await resolveAnywhere(task)
        let words = try await historyWords()
        let summary = try await summary(of: id)
        return try await asking { sync in
            let origins = try await sync.origins(of: id)
            let detail = try await sync.detail(id)
            return words.explanation(of: origins, detail, summary)
        }
    }

    func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary] {
        var id: String?
        if let task { id = try await resolveAnywhere(task) }
        let target = id
        let words = try await historyWords()
        return try await asking { sync in
            try await sync.undo(target, isTrial: isTrial).map { words.summary(of: $0, isTrial: isTrial) }
        }
    }

    /// The id of a task that is there, or in the trash.
    private func resolveAnywhere(_ task: String) async throws -> String {
        do { return try await resolve(task) } catch let error as ControlError where error.code == .notFound {
            let trashed = try await stack().sync.catalog.trashed
            guard case .task(let id) = TaskReference(task).find(in: trashed) else { throw error }
            return id
        }
    }

    private func historyWords() async throws -> HistoryWords {
        let stack = try await stack()
        let devices = try await stack.devices.all()
        return HistoryWords(
            devices: DeviceNames(devices, own: try await stack.devices.ownID),
            listNames: await stack.sync.catalog.listNames)
    }
}

/// Says in sentences what merges did.
struct HistoryWords: Sendable {
    let devices: DeviceNames
    let listNames: [String: String]

    /// Its attachments' names are those that the task has now.
    func summary(of entry: Displacement, in sync: TaskSync) async -> ConflictSummary {
        let attachments = (try? await sync.detail(entry.task))?.item.attachments ?? [:]
        return summary(of: entry, attachments: attachments)
    }

    func summary(of entry: Displacement, attachments: [String: TaskAttachment] = [:]) -> ConflictSummary {
        let path = entry.field == "__document__" ? nil : try? FieldPath(parsing: entry.field)
        let fields = FieldWords(listNames: listNames, attachments: attachments)
        let here = devices.name(entry.replica)
        let there = entry.origin.map { devices.name($0.replica) }
        let from = there.map { " on \($0)" } ?? " elsewhere"
        let explanation: String =
            switch entry.reason {
            case _ where entry.isDelete: "It was deleted\(from); the edit on \(here) kept it."
            case "overlappingText":
                "The same lines were changed on \(here) and\(from); those of \(here) reached the server later."
            default: "It was changed on \(here) and\(from); the change on \(here) reached the server later."
            }
        return ConflictSummary(
            id: entry.id, taskID: entry.task, title: entry.title, field: entry.field, label: fields.label(path),
            standing: entry.isDelete ? "there" : fields.text(entry.standing, of: path),
            displaced: entry.isDelete ? "deleted" : fields.text(entry.displaced, of: path),
            replacedTime: entry.replacedTime?.rfc3339, replica: entry.replica, device: here,
            standingDevice: devices.name(entry.standingOrigin.replica),
            standingTime: entry.standingOrigin.time?.rfc3339, displacedDevice: there,
            displacedTime: entry.origin?.time?.rfc3339, reason: entry.reason, explanation: explanation,
            isOpen: entry.isOpen)
    }

    func explanation(of origins: TaskOrigins, _ detail: TaskSync.Detail, _ summary: TaskSummary) -> TaskExplanation {
        let words = FieldWords(listNames: listNames, attachments: detail.item.attachments)
        let values = origins.values.sorted { Self.rank($0.path) < Self.rank($1.path) }
        let fields = values.map { path, value -> FieldExplanation in
            let change = origins.fields[path.description]
            let origin = change ?? origins.created
            let rule = change.map { $0.rule ?? "changed" } ?? "created"
            return FieldExplanation(
                field: path.description, label: words.label(path), value: words.text(value, of: path),
                device: devices.name(origin.replica), time: origin.time?.rfc3339, rule: rule,
                explanation: Self.sentence(rule, of: path, isOrdered: origin.time != nil, isRemoved: value == nil))
        }
        var remarks = detail.remarks
        let last = (origins.fields.values.compactMap(\.time) + [origins.created.time].compactMap { $0 }).max()
        if let update = origins.updateTime, last.map({ update > $0 }) ?? true, !origins.hasPendingWrites {
            remarks.append(
                "The last change, at \(update.rfc3339), was made by a program that does not say which fields it changed."
            )
        }
        return TaskExplanation(task: summary, fields: fields, remarks: remarks)
    }

    /// The order in which people look at a task; what they made up themselves follows.
    private static func rank(_ path: FieldPath) -> (Int, String) {
        let order = ["deletedTime", "title", "completed", "priority", "due", "tags", "listId", "notes"]
        return (path.segments.first.flatMap { order.firstIndex(of: $0) } ?? order.count, path.description)
    }

    private static func sentence(_ rule: String, of path: FieldPath, isOrdered: Bool, isRemoved: Bool) -> String {
        guard isOrdered else { return "changed here; the server has not ordered it yet" }
        return switch (rule, path.segments.first) {
        case ("created", _): "as the task was made"
        case (_, "deletedTime"): "deleted there"
        case ("changed", _) where isRemoved: "removed there"
        case ("merged", "notes"): "both sides changed the notes; their lines were merged"
        case ("merged", "tags"): "both sides changed the tags; they were united"
        case ("merged", _): "both sides changed it; the changes were merged"
        case ("changedOnBothSides", _): "both sides changed it; this change reached the server later and stands"
        case ("overlappingText", _): "both sides changed the same lines; these reached the server later and stand"
        default: "changed there, and nobody else had changed it meanwhile"
        }
    }

    /// A text's first line.
    private static func brief(_ text: String) -> String {
        let lines = text.split(separator: "\n")
        guard let first = lines.first else { return text }
        return lines.count > 1 ? "\(first) … (\(lines.count) lines)" : String(first)
    }

    func summary(of change: UndoneChange, isTrial: Bool) -> UndoneSummary {
        let words = FieldWords(listNames: listNames)
        var effects: [String] =
            switch change.kind {
            case .removed: [isTrial ? "It would go to the trash." : "It is in the trash."]
            case .restored: [isTrial ? "It would come back from the trash." : "It is back from the trash."]
            case .changed: []
            }
        var told: Set<String> = []
        for (path, now, then) in change.fields where told.insert(words.label(path)).inserted {
            let (before, after) = (words.text(now, of: path), words.text(then, of: path))
            effects.append("\(words.label(path)): \(Self.brief(before)) → \(Self.brief(after))")
        }
        effects += change.leftAlone.map { "\(words.label($0)) was changed since and is left alone." }
        if effects.isEmpty { effects = ["Nothing is left of that change."] }
        return UndoneSummary(taskID: change.task, title: change.title, effects: effects)
    }
}
