@testable import ObjectStorage

extension ChunkSizes {
    /// A 64th of the standard sizes, so that tests need little content.
    static let small = ChunkSizes(minimum: 4 << 10, normal: 16 << 10, maximum: 64 << 10)
}
