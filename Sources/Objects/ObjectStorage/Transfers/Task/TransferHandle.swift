/// A transfer in either direction, to be watched and steered.
public protocol TransferHandle: AnyObject, Sendable {
    var id: TransferID { get }
    var name: String { get }
    var label: String { get }
    var direction: TransferSnapshot.Direction { get }
    var priority: Int { get }
    var snapshot: TransferSnapshot { get }
    var snapshots: AsyncStream<TransferSnapshot> { get }

    func start()
    func pause()
    func resume()
    func cancel()
    func limit(bytesPerSecond: Int?)
}
