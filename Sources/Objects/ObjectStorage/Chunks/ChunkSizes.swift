/// The limits of the length of chunks, in bytes. They decide where content is cut, so all devices
/// that share a store must use the same ones.
public struct ChunkSizes: Hashable, Sendable {
    /// The minimum length of every chunk but the last of a file.
    public let minimum: Int
    /// The target length, a power of two.
    public let normal: Int
    /// The maximum length.
    public let maximum: Int

    /// The sizes that Ferry uses: 256 KiB, 1 MiB and 4 MiB.
    public static let standard = ChunkSizes(minimum: 256 << 10, normal: 1 << 20, maximum: 4 << 20)

    /// Creates sizes. `normal` is rounded down to a power of two, at least 1 KiB; `minimum` is
    /// lowered and `maximum` is raised to it if necessary.
    public init(minimum: Int, normal: Int, maximum: Int) {
        let power = 1 << (Int.bitWidth - 1 - max(1 << 10, min(normal, 1 << 30)).leadingZeroBitCount)
        self.normal = power
        self.minimum = max(64, min(minimum, power))
        self.maximum = max(power, min(maximum, 1 << 30))
    }
}
