import DocumentClient
import SystemIO
import TaskFolder
import TaskModel

/// Handles files whose uploads a user has cancelled. They stay on this machine only, until they
/// change or their transfers are resumed.
extension TaskSync {
    /// Remembers, across restarts, that this version of an upload's file stays on this machine; or
    /// forgets that.
    func setDeclined(_ transfer: Transfer, _ isDeclined: Bool) async throws {
        let key = Self.partialKey(transfer.task, transfer.name)
        let path = filePath(of: transfer)
        let stamp = path.flatMap { try? folder.stamp($0) }
        try await setDeclined(key, isDeclined ? stamp.map { OrphanedAttachments.Version($0) } : nil, at: path)
    }

    /// Remembers that a version of a file stays on this machine.
    ///
    /// - Parameter version: The version; nil forgets it.
    func setDeclined(_ key: String, _ version: OrphanedAttachments.Version?, at path: TaskPath?) async throws {
        guard declined[key] != version else { return }
        var all = declined
        all[key] = version
        let text = all.sorted { $0.key < $1.key }.map { "\($0.value.saved) \($0.key)" }.joined(separator: "\n")
        try await client.transaction { try SyncTables($0).setState("declined", text) }
        declined = all
        problems["declined \(key)"] = nil
        if version != nil, let path { tellDeclined(key, path) }
    }

    /// Whether a file is the version whose upload a user has cancelled. Other versions are attached
    /// like any file.
    func isDeclined(_ task: TaskID, _ path: TaskPath, _ stamp: FileStamp) async -> Bool {
        let key = Self.partialKey(task, path.name)
        guard let version = declined[key] else { return false }
        guard version == OrphanedAttachments.Version(stamp) else {
            try? await setDeclined(key, nil, at: path)
            return false
        }
        tellDeclined(key, path)
        // After a restart the transfer is listed again, so that it can be resumed.
        let id = idOfUpload(task, path.name, size: stamp.size, stamp)
        if transfers[id] == nil {
            transfers.add(
                Transfer(
                    id: id, task: task, attachment: attachments.row(of: task, named: path.name)?.attachment,
                    name: path.name, isUpload: true, phase: .cancelled, size: stamp.size))
        }
        return true
    }

    private func tellDeclined(_ key: String, _ path: TaskPath) {
        note(
            SyncProblem(
                code: "not-attached", subject: path.string,
                message: "Its upload was cancelled; this version of the file stays on this machine.",
                hint: "'ferry transfers resume' with the transfer's id attaches it, and so does a change of the file."),
            for: "declined \(key)")
    }

    static func declined(saved text: String) -> [String: OrphanedAttachments.Version] {
        var declined: [String: OrphanedAttachments.Version] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3)
            guard words.count == 4, let version = OrphanedAttachments.Version(saved: words[..<3]) else { continue }
            declined[String(words[3])] = version
        }
        return declined
    }
}
