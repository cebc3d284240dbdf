package import SystemIO

/// The options of a `Transfers` queue.
public struct TransferOptions: Sendable {
    /// The maximum number of files in progress. Memory does not depend on it, because all transfers
    /// share one budget.
    public var simultaneous: Int {
        get { policy.simultaneous }
        set { policy.simultaneous = newValue }
    }
    /// The compression of chunks.
    public var compression = CompressionPolicy.automatic
    /// Whether no other device puts objects under the user's prefix. Only then a cancelled upload
    /// deletes its chunks at once; otherwise another device might rely on one of them that it has
    /// found in the store, and they are left to garbage collection.
    public var isSoleWriter = false
    /// Moves finished downloads to their destinations; nil for a plain rename.
    public var placement: Placement?

    /// Moves the finished file at a path to its destination. It throws if the file must not be put
    /// there.
    public typealias Placement =
        @Sendable (_ transfer: TransferSnapshot, _ finished: String, _ destination: String)
        async throws -> Void

    /// Decides which transfers run at once, and what becomes of failures.
    package var policy = TransferPolicy()
    /// The clock and the randomness of the queue.
    package var environment = Environment.system
    var sizes = ChunkSizes.standard

    /// Creates the default options.
    public init() {}
}
