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
    ///
    /// - Parameter reason: what is wrong, for the problem that is told.
    func reportDamage(_ transfer: Transfer, _ reason: String) {
        guard let id = transfer.attachment else { return }
        let key = Self.damageKey(transfer.task, id, transfer.sha256)
        let isFirst = reportedDamage.updateValue(reason, forKey: key) == nil
        noteDamage(
            transfer.task, id, transfer.name, transfer.sha256,
            hint: isFirst
                ? Self.waitForRepair : "Putting it there again did not help: look at the server's disk and its log.")
        guard isFirst else { return }
        markedDamage.insert(key)
        Task {
            try? await self.exclusively {
                defer { self.markedDamage.remove(key) }
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

    static func damageKey(_ task: String, _ attachment: String, _ sha256: String?) -> String {
        "down \(task) \(attachment) \(sha256 ?? "")"
    }

    func noteDamage(
        _ task: String, _ attachment: String, _ name: String, _ sha256: String?, hint: String = waitForRepair
    ) {
        let reason = reportedDamage[Self.damageKey(task, attachment, sha256)]
        note(
            SyncProblem(
                code: "attachment-damaged", subject: "\(catalog[task]?.title ?? task): \(name)",
                message: "The server has lost this attachment, or damaged it" + (reason.map { ": \($0)." } ?? "."),
                hint: hint),
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
