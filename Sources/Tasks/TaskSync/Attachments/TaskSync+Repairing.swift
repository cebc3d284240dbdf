import DocumentClient
import DocumentModel
import ObjectStorage
import TaskFolder
import TaskModel

/// Attachments whose bytes the store has lost or damaged. Whoever finds that out marks the attachment in its task's document;
/// each machine that has the file puts all of it there anew and takes the mark away, and then the others fetch it.
extension TaskSync {
    static func damageMark(of attachment: String) -> FieldPath {
        FieldPath(key: "attachments").appending(attachment).appending("damaged")
    }

    /// A download found its content missing or damaged.
    func report(damaged transfer: Transfer, _ error: any Error) {
        guard let id = transfer.attachment, !transfer.isUpload else {
            return note(
                SyncProblem(
                    code: "attachment-failed", subject: subject(transfer.task, transfer.name), message: "\(error)"),
                for: "transfer \(transfer.pauseKey)")
        }
        noteDamage(transfer.task, id, transfer.name)
        Task {
            try? await self.exclusively {
                try await self.client.transaction { transaction in
                    let name = try DocumentName(
                        database: transaction.databaseName, collection: "tasks", id: transfer.task)
                    let fields = try transaction.document(name).fields(pendingTimes: .previous)
                    guard let known = TaskItem(fields: fields).attachments[id], !known.isDamaged,
                        known.sha256 == transfer.sha256
                    else { return }
                    try transaction.append(.merge(name, [Self.damageMark(of: id): .boolean(true)]))
                }
            }
        }
    }

    func noteDamage(_ task: String, _ attachment: String, _ name: String) {
        note(
            SyncProblem(
                code: "attachment-damaged", subject: subject(task, name),
                message: "The server has lost this attachment, or damaged it.",
                hint: "A machine that has the file puts it there again by itself; let it run and be in touch."),
            for: "transfer down \(task) \(attachment)")
    }

    /// What is still so is noted again.
    func forgetDamage(_ task: String) {
        guard !problems.isEmpty else { return }
        for (key, problem) in problems
        where problem.code == "attachment-damaged" && key.hasPrefix("transfer down \(task) ") {
            problems[key] = nil
        }
    }

    /// The file of `row` is what the attachment says, and others cannot get it.
    func queueRepair(_ row: AttachmentRow, _ attachment: TaskAttachment) {
        // Only its owner may put objects there.
        guard let owner = attachment.manifest?.split(separator: "/").first, owner == configuration.userID else {
            return
        }
        queueUpload(row.task, row.name, size: row.stamp.size, isRepair: true)
    }

    private func subject(_ task: String, _ name: String) -> String { "\(catalog[task]?.title ?? task): \(name)" }
}
