import Glibc

/// The parts of a buffer that have to be written to a file which is empty at that place, in order.
///
/// What lies between them, and after the last one, is zero. Only zeros that fill a whole unit of 64
/// KiB of the buffer are left out: each part costs a call.
struct SparseRuns: Sequence, IteratorProtocol {
    private static let unit = 64 << 10
    private static let zeros = [UInt8](repeating: 0, count: unit)

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// - Parameter bytes: Must stay valid while the runs are read.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func next() -> Range<Int>? {
        while position < bytes.count, isZero(position) { position += Self.unit }
        guard position < bytes.count else { return nil }
        let start = position
        while position < bytes.count, !isZero(position) { position += Self.unit }
        return start..<Swift.min(position, bytes.count)
    }

    /// Whether a whole unit of zeros begins at `start`.
    private func isZero(_ start: Int) -> Bool {
        guard start + Self.unit <= bytes.count, let base = bytes.baseAddress else { return false }
        return memcmp(base + start, Self.zeros, Self.unit) == 0
    }
}
