/// What the journal keeps of a transfer.
struct TransferRecord: Sendable {
    enum State: String, Sendable {
        /// Queued, running or waiting: goes on after a restart.
        case active
        case paused
        /// Somebody cancelled it; what it has put must still be taken back.
        case cancelling
        case done
        case failed
    }

    let id: TransferID
    let direction: TransferSnapshot.Direction
    /// Whatever its owner knows it by.
    var label: String
    var name: String
    var type: MIMEType
    /// Read from, or written to.
    var path: String
    /// Whether `path` is a copy of ours that goes away at the end.
    var isSpooled = false
    /// Of a download, its file while it grows.
    var partial: String?
    var priority: Int
    /// Bytes a second; nil: no limit of its own.
    var rate: Int?
    var state = State.active
    var size: Int64?
    var sha256: ContentHash?
    var manifest: ContentHash?
    var chunkCount = 0
    /// Why it failed.
    var problem: ObjectStorageError?
}
