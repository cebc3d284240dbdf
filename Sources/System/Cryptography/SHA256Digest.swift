/// A SHA-256 digest of 32 bytes, stored inline so that it is cheap to compare, to hash and to keep
/// by the million.
package struct SHA256Digest: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let byteCount = 32

    // Big-endian words, so that comparing words gives the same order as comparing bytes.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a digest; nil unless there are exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
        self.words = (words[0], words[1], words[2], words[3])
    }

    /// Creates a digest from text; nil unless it is 64 hexadecimal digits.
    package init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes: bytes)
    }

    /// Creates a digest from the 32 bytes that `fill` writes.
    init(filling fill: (UnsafeMutableRawBufferPointer) -> Void) {
        var raw: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &raw, fill)
        words = (
            UInt64(bigEndian: raw.0), UInt64(bigEndian: raw.1), UInt64(bigEndian: raw.2), UInt64(bigEndian: raw.3)
        )
    }

    package var bytes: [UInt8] {
        withBytes { Array($0) }
    }

    /// Calls `body` with the 32 bytes in order.
    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let raw = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: raw, body)
    }

    /// The digest as 64 lowercase hexadecimal digits.
    package var hex: String { withBytes { Hex.encode($0) } }

    package var description: String { hex }

    package static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    package static func < (left: Self, right: Self) -> Bool { left.words < right.words }

    package func hash(into hasher: inout Hasher) {
        // The bytes of a digest are effectively random, so a quarter of them suffices for a hash
        // table.
        hasher.combine(words.0)
    }
}
