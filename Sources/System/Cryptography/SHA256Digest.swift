/// The 32 bytes of a SHA-256, held inline: cheap to compare, hash and keep by the million.
package struct SHA256Digest: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let byteCount = 32

    // Big-endian words, so that the order of the words is the order of the bytes.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Nil unless there are exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
        self.words = (words[0], words[1], words[2], words[3])
    }

    /// Nil unless the text is 64 hexadecimal digits.
    package init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes: bytes)
    }

    /// Takes the first 32 bytes that `fill` has written.
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

    /// The 32 bytes, in their order.
    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let raw = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        return withUnsafeBytes(of: raw, body)
    }

    /// 64 lowercase hexadecimal digits.
    package var hex: String { withBytes { Hex.encode($0) } }

    package var description: String { hex }

    package static func == (left: Self, right: Self) -> Bool { left.words == right.words }

    package static func < (left: Self, right: Self) -> Bool { left.words < right.words }

    package func hash(into hasher: inout Hasher) {
        // The bytes of a digest are as good as random; a quarter of them is enough for a hash table.
        hasher.combine(words.0)
    }
}
