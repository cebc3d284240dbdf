import DocumentClient
import SystemIO
import TaskFolder
import TaskModel

/// Keeps a transfer's id and progress across restarts of the daemon.
extension TaskSync {
    /// Returns the id of an upload, which is the same for the same version of a file.
    ///
    /// - Parameter known: The file's stamp; nil to read it.
    func idOfUpload(_ task: TaskID, _ name: String, size: Int64, _ known: FileStamp? = nil) -> String {
        let path = known == nil ? index.path(of: task).flatMap { try? $0.attachmentsDirectory().appending(name) } : nil
        let stamp = known ?? path.flatMap { try? folder.stamp($0) }
        let version = stamp.map { "\($0.size) \($0.modified.seconds) \($0.modified.nanoseconds)" } ?? "\(size)"
        return DocumentID.derived(from: "ferry upload\n\(task)\n\(name)\n\(version)")
    }

    /// Returns the id of a download.
    ///
    /// - Parameter key: The key of the object that is downloaded.
    static func idOfDownload(_ task: TaskID, _ attachment: AttachmentID, _ key: String) -> String {
        DocumentID.derived(from: "ferry download\n\(task)\n\(attachment)\n\(key)")
    }

    /// The progress of each transfer for the next run of the daemon, one per line.
    var savedProgress: String {
        transfers.transfers.values.filter { !$0.phase.isOver && $0.size >= Self.watchedSize && $0.bytesDone > 0 }
            .map { "\($0.id) \($0.bytesDone)" }.sorted().joined(separator: "\n")
    }

    static func progress(saved text: String) -> [String: Int64] {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        let pairs = lines.compactMap { line in
            line.count == 2 ? Int64(line[1]).map { (String(line[0]), $0) } : nil
        }
        return Dictionary(pairs) { $1 }
    }

    /// Saves the progress, unless that was done within `pause`. After a failure a smaller progress
    /// is shown after a restart, but nothing is lost.
    func saveProgress(every pause: Duration) async {
        let now = environment.now()
        // Transfers that end within the first interval do not need it.
        guard let last = lastProgress, now - last >= pause else {
            if lastProgress == nil { lastProgress = now }
            return
        }
        lastProgress = now
        let progress = savedProgress
        try? await client.transaction { try SyncTables($0).setState("progress", progress) }
    }
}
