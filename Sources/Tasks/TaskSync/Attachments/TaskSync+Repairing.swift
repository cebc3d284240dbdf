import DocumentClient
import DocumentModel
import ObjectStorage
import TaskFolder
import TaskModel

/// Repairs attachments whose objects the store has lost or damaged. The machine that notices it
/// marks the attachment in its task's document; each machine that has the file uploads all of it
/// again and removes the mark, and then the others download it.
extension TaskSync {
    static func damageMark(of attachment: AttachmentID) -> FieldPath {
        FieldPath(key: "attachments").appending(attachment.rawValue).appending("damaged")
    }

    /// Asks the machines that have the file to upload it again, after a download has found its
    /// content missing or damaged several times. It asks once: if one repair did not help, the next
    /// one would not either, and each sends the whole file. The download is tried again in the
    /// meantime.
    ///
    /// - Parameter reason: The problem that is reported.
    func reportDamage(_ transfer: Transfer, _ reason: String) {
        guard let id = transfer.attachment else { return }
        let isFirst = reportedDamage.updateValue(reason, forKey: transfer.damageKey) == nil
        noteDamage(
            transfer.task, id, transfer.name, transfer.sha256,
            hint: transfer.repair == .done
                ? "Putting it there again did not help: look at the server's disk and its log." : Self.waitForRepair)
        guard isFirst else { return }
        Task {
            try? await self.withExclusiveAccess {
                try await self.client.transaction { transaction in
                    let name = try DocumentName(task: transfer.task, in: transaction.databaseName)
                    let fields = try transaction.document(name).fields(pendingTimes: .previous)
                    guard let known = TaskItem(fields: fields).attachments[id], !known.isDamaged,
                        known.sha256 == transfer.sha256
                    else { return }
                    try transaction.append(.merge(name, [Self.damageMark(of: id): .boolean(true)]))
                }
            }
        }
    }

    /// Removes the marks of attachments that could be downloaded after all.
    static func removeMarks(_ rows: [AttachmentRow], _ transaction: ReplicaTransaction) throws {
        for row in rows {
            let name = try DocumentName(task: row.task, in: transaction.databaseName)
            let fields = try transaction.document(name).fields(pendingTimes: .previous)
            guard let known = TaskItem.attachments(in: fields)[row.attachment.rawValue].flatMap({ TaskAttachment($0) }),
                known.isDamaged, known.sha256 == row.sha256
            else { continue }
            try transaction.append(.merge(name, [damageMark(of: row.attachment): nil]))
        }
    }

    static let waitForRepair = "A machine that has the file puts it there again by itself; let it run and be in touch."

    static func damageKey(_ task: TaskID, _ attachment: AttachmentID, _ sha256: String?) -> String {
        "down \(task) \(attachment) \(sha256 ?? "")"
    }

    func noteDamage(
        _ task: TaskID, _ attachment: AttachmentID, _ name: String, _ sha256: String?, hint: String = waitForRepair
    ) {
        let reason = reportedDamage[Self.damageKey(task, attachment, sha256)]
        note(
            SyncProblem(
                code: "attachment-damaged", subject: "\(catalog[task]?.title ?? task.rawValue): \(name)",
                message: "The server has lost this attachment, or damaged it" + (reason.map { ": \($0)." } ?? "."),
                hint: hint),
            for: "transfer down \(task) \(attachment)")
    }

    /// Forgets the reports of a task's damaged attachments. Those that are still damaged are
    /// reported again.
    func forgetDamage(_ task: TaskID) {
        guard !problems.isEmpty else { return }
        for (key, problem) in problems
        where problem.code == "attachment-damaged" && key.hasPrefix("transfer down \(task) ") {
            problems[key] = nil
        }
    }

    /// Uploads the file of an attachment again, because other machines cannot download it.
    func queueRepair(_ row: AttachmentRow, _ attachment: TaskAttachment) {
        // Only the owner may upload objects there.
        guard let owner = attachment.manifest?.split(separator: "/").first,
            UserID(String(owner)) == configuration.userID
        else { return }
        queueUpload(row.task, row.name, size: row.stamp.size, isRepair: true)
    }
}
