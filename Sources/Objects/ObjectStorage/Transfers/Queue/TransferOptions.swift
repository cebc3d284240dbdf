/// How a `Transfers` queue works.
public struct TransferOptions: Sendable {
    /// Files at a time. Memory does not depend on it: all share one budget.
    public var simultaneous = 4
    public var compression = CompressionPolicy.automatic
    /// Whether nobody else puts objects under the user's prefix. Only then can a cancelled upload take back its chunks at
    /// once: another machine might be about to rely on one that it has found in the store. Otherwise they are left to
    /// the server's collection of garbage.
    public var isSoleWriter = false
    /// Puts finished downloads in their places instead of a rename.
    public var placement: Placement?

    /// Gets the path of a finished file and takes it away; throws where it must not be put in its place.
    public typealias Placement =
        @Sendable (_ transfer: TransferSnapshot, _ finished: String, _ destination: String)
        async throws -> Void

    var sizes = ChunkSizes.standard

    public init() {}
}
