/// How long chunks are. The sizes decide where content is cut, so everybody who shares a store must use the same.
public struct ChunkSizes: Hashable, Sendable {
    /// No chunk but the last of a file is shorter.
    public let minimum: Int
    /// The length around which chunks gather; a power of two.
    public let normal: Int
    /// No chunk is longer.
    public let maximum: Int

    /// 256 KiB, 1 MiB and 4 MiB: what Ferry stores.
    public static let standard = ChunkSizes(minimum: 256 << 10, normal: 1 << 20, maximum: 4 << 20)

    /// `normal` is rounded down to a power of two, at least 1 KiB; the others are brought to either side of it.
    public init(minimum: Int, normal: Int, maximum: Int) {
        let power = 1 << (Int.bitWidth - 1 - max(1 << 10, min(normal, 1 << 30)).leadingZeroBitCount)
        self.normal = power
        self.minimum = max(64, min(minimum, power))
        self.maximum = max(power, min(maximum, 1 << 30))
    }
}
