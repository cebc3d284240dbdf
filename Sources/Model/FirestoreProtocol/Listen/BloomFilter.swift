import Cryptography
package import DocumentModel

/// The message `google.firestore.v1.BloomFilter`.
///
/// The MD5 of a full resource name consists of two 64-bit halves h1 and h2 (little-endian). The
/// bits of the name are (h1 + i·h2) mod the number of bits, for i in 0 ..< `hashCount`. Bit n is
/// bit n mod 8 of byte n / 8.
package struct BloomFilter: ProtobufMessage, Hashable {
    package var bitmap: [UInt8]
    /// The number of unused high bits in the last byte, 0 to 7.
    package var padding: Int32
    package var hashCount: Int32

    package init(bitmap: [UInt8] = [], padding: Int32 = 0, hashCount: Int32 = 0) {
        self.bitmap = bitmap
        self.padding = padding
        self.hashCount = hashCount
    }

    /// Creates a filter of these names. About one in fifteen thousand other names is taken for one
    /// of them.
    package init(of names: some Collection<DocumentName>) {
        let bitCount = max(1, names.count * Self.bitsPerName)
        self.init(
            bitmap: [UInt8](repeating: 0, count: (bitCount + 7) / 8), padding: Int32((8 - bitCount % 8) % 8),
            hashCount: names.isEmpty ? 0 : Self.hashCount)
        for name in names { for bit in bits(of: name) { bitmap[bit / 8] |= 1 << (bit % 8) } }
    }

    /// Whether the filter may contain the name. False is certain.
    package func mayContain(_ name: DocumentName) -> Bool {
        let bits = bits(of: name)
        return !bits.isEmpty && bits.allSatisfy { bitmap[$0 / 8] & 1 << ($0 % 8) != 0 }
    }

    private static let bitsPerName = 20
    private static let hashCount: Int32 = 14

    /// Returns the indices of the bits of a name; none in an empty filter.
    private func bits(of name: DocumentName) -> [Int] {
        let bitCount = bitmap.count * 8 - Int(padding)
        guard bitCount > 0, (0..<8).contains(padding), hashCount > 0 else { return [] }
        let digest = MD5.hash(Array(name.description.utf8))
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        let (first, second) = (half(digest.prefix(8)), half(digest.suffix(8)))
        return (0..<UInt64(hashCount)).map { Int((first &+ $0 &* second) % UInt64(bitCount)) }
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1:
                let bits = try reader.message(BitSequence.self)
                bitmap = bits.bitmap
                padding = bits.padding
            case 2: hashCount = try reader.int32()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(BitSequence(bitmap: bitmap, padding: padding), field: 1)
        writer.writeUnlessDefault(hashCount, field: 2)
    }
}

/// The message `google.firestore.v1.BitSequence`.
private struct BitSequence: ProtobufMessage {
    var bitmap: [UInt8]
    var padding: Int32

    init(bitmap: [UInt8], padding: Int32) {
        self.bitmap = bitmap
        self.padding = padding
    }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(bitmap: [], padding: 0)
        while try reader.next() {
            switch reader.field {
            case 1: bitmap = try reader.bytes()
            case 2: padding = try reader.int32()
            default: try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(bitmap, field: 1)
        writer.writeUnlessDefault(padding, field: 2)
    }
}
