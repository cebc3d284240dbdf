/// A transfer as it is stored in the journal.
struct TransferRecord: Sendable {
    enum State: String, Sendable {
        /// Queued, running or waiting. The transfer continues after a restart.
        case active
        case paused
        /// The transfer was cancelled, but what it has put is not removed yet.
        case cancelling
        case done
        case failed
    }

    let id: TransferID
    let direction: TransferSnapshot.Direction
    /// The label that the application has given to the transfer.
    var label: String
    var name: String
    var type: MIMEType
    /// The file to read from or to write to.
    var path: String
    /// Whether `path` is a temporary copy, which is deleted at the end.
    var isSpooled = false
    /// The path of the partial file of a download; nil for an upload or for the default path.
    var partial: String?
    var priority: Int
    /// The rate limit of this transfer in bytes per second; nil for none.
    var rate: Int?
    var state = State.active
    var size: Int64?
    var sha256: ContentHash?
    var manifest: ContentHash?
    /// The key of the object that describes the file to download; nil for a manifest of the user.
    var object: ObjectKey?
    var chunkCount = 0
    /// The reason why the transfer failed; nil if it did not.
    var problem: ObjectStorageError?
}
