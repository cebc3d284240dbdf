import Control
import Cryptography
import DocumentModel
import TaskModel
import TaskSync

/// Describes in sentences what merges did.
struct HistoryWords: Sendable {
    let devices: DeviceNames
    let listNames: [ListID: String]

    /// Returns the summary of an entry, with the attachment names that the task has now.
    func summary(of entry: Displacement, in sync: TaskSync) async -> ConflictSummary {
        guard entry.field.hasPrefix("attachments.") else { return summary(of: entry) }
        return summary(of: entry, attachments: (try? await sync.detail(entry.task))?.item.attachments ?? [:])
    }

    /// Returns a short handle of a history entry. The ids themselves have common prefixes.
    static func handle(of id: String) -> String { String(SHA256.hash(id).hex.prefix(8)) }

    func summary(of entry: Displacement, attachments: [AttachmentID: TaskAttachment] = [:]) -> ConflictSummary {
        let path = entry.field == "__document__" ? nil : try? FieldPath(parsing: entry.field)
        var attachments = attachments
        if let id = (path?.segments.last).map({ AttachmentID($0) }), attachments[id] == nil,
            let file = entry.displaced.flatMap({ TaskAttachment($0) })
        {
            attachments[id] = file
        }
        let fields = FieldWords(listNames: listNames, attachments: attachments)
        let here = devices.name(entry.replica)
        let there = entry.origin.map { devices.name($0.replica) }
        let from =
            switch entry.origin {
            case nil: " elsewhere"
            case let origin? where origin.replica == nil: " by another program"
            case let origin?: " on \(devices.name(origin.replica))"
            }
        let explanation: String =
            switch entry.reason {
            case _ where entry.isDelete: "It was deleted\(from); the edit on \(here) kept it."
            case "removed": "It was removed on \(here); 'ferry restore \(Self.handle(of: entry.id))' brings it back."
            case "replaced":
                "It was replaced on \(here); 'ferry restore \(Self.handle(of: entry.id))' brings it back."
            case "overlappingText":
                "The same lines were changed on \(here) and\(from); those of \(here) reached the server later."
            default: "It was changed on \(here) and\(from); the change on \(here) reached the server later."
            }
        return ConflictSummary(
            id: entry.id, handle: Self.handle(of: entry.id), taskID: entry.task.rawValue, title: entry.title,
            field: entry.field,
            label: fields.label(path),
            standing: entry.isDelete ? "there" : fields.text(entry.standing, of: path),
            displaced: entry.isDelete ? "deleted" : fields.text(entry.displaced, of: path),
            replacedTime: entry.replacedTime?.rfc3339, replica: entry.replica.rawValue, device: here,
            // The edit that kept a task may cover several fields. It is identified by what it
            // replaced.
            standingDevice: entry.isDelete ? here : devices.name(entry.standingOrigin.replica),
            standingTime: (entry.isDelete ? entry.replacedTime : entry.standingOrigin.time)?.rfc3339,
            displacedDevice: there,
            displacedTime: entry.origin?.time?.rfc3339, reason: entry.reason, explanation: explanation,
            isOpen: entry.isOpen)
    }

    func explanation(of origins: TaskOrigins, _ detail: TaskSync.Detail, _ summary: TaskSummary) -> TaskExplanation {
        let words = FieldWords(listNames: listNames, attachments: detail.item.attachments)
        // The spelling of a date is explained together with the date.
        let values = origins.values.filter { path, value in
            path.segments.first != "fields" || value == nil || detail.item.fields[path.segments.last ?? ""] != nil
        }.sorted { Self.rank($0.path) < Self.rank($1.path) }
        let fields = values.map { path, value -> FieldExplanation in
            let change = origins.fields[path.description]
            let origin = change ?? origins.created
            let rule = change.map { $0.rule ?? "changed" } ?? "created"
            return FieldExplanation(
                field: path.description, label: words.label(path),
                value: path.segments == ["due"] ? detail.item.due?.text ?? "none" : words.text(value, of: path),
                device: devices.name(origin.replica), time: origin.time?.rfc3339, rule: rule,
                explanation: Self.sentence(rule, of: path, isOrdered: origin.time != nil, isRemoved: value == nil))
        }
        var remarks = detail.remarks
        let last = (origins.fields.values.compactMap(\.time) + [origins.created.time].compactMap { $0 }).max()
        if let update = origins.updateTime, last.map({ update > $0 }) ?? true, !origins.hasPendingWrites {
            remarks.append(
                "The last change, at \(update.rfc3339), was made by a program that does not report which fields it changed."
            )
        }
        return TaskExplanation(task: summary, fields: fields, remarks: remarks)
    }

    /// Returns the text about who can restore an attachment that the server has lost.
    func repair(of attachment: AttachmentSummary, _ origins: TaskOrigins) -> String {
        let path = FieldPath(key: "attachments").appending(attachment.id)
        let origin = origins.fields[path.description] ?? origins.created
        return
            "The server has lost \(attachment.name), or damaged it. It was attached on \(devices.name(origin.replica)): that "
            + "machine, or another one that has the file, uploads it again when it is running."
    }

    /// Returns the sort key of a field: the usual order of a task's fields, followed by custom
    /// fields.
    private static func rank(_ path: FieldPath) -> (Int, String) {
        let order = ["deletedTime", "title", "completed", "priority", "due", "tags", "listId", "notes"]
        return (path.segments.first.flatMap { order.firstIndex(of: $0) } ?? order.count, path.description)
    }

    private static func sentence(_ rule: String, of path: FieldPath, isOrdered: Bool, isRemoved: Bool) -> String {
        guard isOrdered else { return "changed here; the server has not ordered it yet" }
        return switch (rule, path.segments.first) {
        case ("created", _): "since the task was created"
        case (_, "deletedTime"): "deleted there"
        case ("changed", _) where isRemoved: "removed there"
        case ("merged", "notes"): "both sides changed the notes; their lines were merged"
        case ("merged", "tags"): "both sides changed the tags; they were merged"
        case ("merged", _): "both sides changed it; the changes were merged"
        case ("changedOnBothSides", _): "both sides changed it; this change reached the server last and won"
        case ("overlappingText", _): "both sides changed the same lines; these reached the server last and won"
        default: "changed there; no other machine had changed it"
        }
    }

    /// Returns the first line of a text, with the number of lines if there are more.
    private static func brief(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline)
        guard let first = lines.first else { return text }
        return lines.count > 1 ? "\(first) … (\(lines.count) lines)" : String(first)
    }

    func summary(of change: UndoneChange, isTrial: Bool) -> UndoneSummary {
        var words = FieldWords(listNames: listNames)
        for (path, now, then) in change.fields where path.segments.first == "attachments" {
            if let id = path.segments.last {
                words.attachments[AttachmentID(id)] = (then ?? now).flatMap { TaskAttachment($0) }
            }
        }
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
        effects += change.leftAlone.map { "\(words.label($0)) was changed since and is left unchanged." }
        if effects.isEmpty { effects = ["Nothing of that change is left to undo."] }
        return UndoneSummary(taskID: change.task.rawValue, title: change.title, effects: effects)
    }
}
