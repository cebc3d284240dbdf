/// A `TransferEngine` without its type of outcome.
protocol SteerableEngine: AnyObject, Sendable {
    func handle(_ event: TransferMachine.Event)
    func showIdle(as idle: TransferState, problem: ObjectStorageError?)
    func giveUp(_ error: ObjectStorageError)
    func waitUntilStill() async
}

extension TransferEngine: SteerableEngine {
    /// Returns when no work is in progress.
    func waitUntilStill() async {
        for await snapshot in snapshots() {
            switch snapshot.state {
            case .running, .stopping: continue
            default: return
            }
        }
    }
}

extension TransferRecord {
    /// The outcome of an upload that ended in an earlier process; nil for other transfers.
    var uploaded: UploadedFile? {
        guard state == .done, direction == .up, let size, let sha256, let manifest else { return nil }
        return UploadedFile(
            name: name, type: type, size: size, sha256: sha256, manifest: manifest, chunkCount: chunkCount)
    }

    /// The outcome of a download that ended in an earlier process; nil for other transfers.
    var downloaded: DownloadedFile? {
        guard state == .done, direction == .down, let size, let sha256, let manifest else { return nil }
        return DownloadedFile(path: path, size: size, sha256: sha256, manifest: manifest)
    }

    /// Returns the record of the finished upload.
    func done(_ file: UploadedFile) -> TransferRecord {
        var record = self
        record.state = .done
        (record.size, record.sha256, record.manifest) = (file.size, file.sha256, file.manifest)
        record.chunkCount = file.chunkCount
        record.problem = nil
        return record
    }

    /// Returns the record of the finished download.
    func done(_ file: DownloadedFile) -> TransferRecord {
        var record = self
        record.state = .done
        (record.size, record.sha256) = (file.size, file.sha256)
        record.problem = nil
        return record
    }
}
