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

    /// A download found its content missing or damaged. It is asked for a repair once: where one did not help, the next would
    /// not either, and each sends the whole file.
    func reportDamage(_ transfer: Transfer) {
        guard let id = transfer.attachment else { return }
        let isFirst = reportedDamage.insert("\(transfer.pauseKey) \(transfer.sha256 ?? "")").inserted
        noteDamage(
            transfer.task, id, transfer.name,
            hint: isFirst
                ? Self.waitForRepair : "Putting it there again did not help: look at the server's disk and its log.")
        guard isFirst else { return }
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

    static let waitForRepair = "A machine that has the file puts it there again by itself; let it run and be in touch."

    func noteDamage(_ task: String, _ attachment: String, _ name: String, hint: String = waitForRepair) {
        note(
            SyncProblem(
                code: "attachment-damaged", subject: "\(catalog[task]?.title ?? task): \(name)",
                message: "The server has lost this attachment, or damaged it.", hint: hint),
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
}
