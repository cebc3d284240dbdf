/// A transfer in either direction, which can be observed and controlled.
public protocol TransferHandle: AnyObject, Sendable {
    /// The id, which is the same after a restart.
    var id: TransferID { get }
    /// The name of the file.
    var name: String { get }
    /// The label that the application has given to the transfer.
    var label: String { get }
    /// Whether the transfer is an upload or a download.
    var direction: TransferSnapshot.Direction { get }
    /// The priority; see `UploadRequest`.
    var priority: Int { get }
    /// The current state and progress.
    var snapshot: TransferSnapshot { get }
    /// A stream of snapshots that begins with the current one and ends after the outcome. A slow
    /// reader receives only the newest snapshot.
    var snapshots: AsyncStream<TransferSnapshot> { get }

    /// Starts the transfer, or lets it run as soon as the queue permits.
    func start()
    /// Pauses the transfer until `resume`.
    func pause()
    /// Resumes a paused transfer.
    func resume()
    /// Cancels the transfer and removes what it has stored.
    func cancel()
    /// Limits the rate of this transfer in bytes per second; nil for no limit.
    func limit(bytesPerSecond: Int?)
}
