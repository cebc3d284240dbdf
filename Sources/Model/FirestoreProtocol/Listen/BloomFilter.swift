/// `google.firestore.v1.BloomFilter`.
///
/// A full resource name gives two 64-bit halves h1, h2 (little-endian) of its MD5; its bits are (h1 + i·h2) mod the number of bits, for
/// i in 0 ..< `hashCount`. Bit n is bit n mod 8 of byte n / 8.
package struct BloomFilter: ProtobufMessage, Hashable {
    package var bitmap: [UInt8]
    /// 0 … 7: the unused high bits of the last byte.
    package var padding: Int32
    package var hashCount: Int32

    package init(bitmap: [UInt8] = [], padding: Int32 = 0, hashCount: Int32 = 0) {
        self.bitmap = bitmap
        self.padding = padding
        self.hashCount = hashCount
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

/// `google.firestore.v1.BitSequence`.
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
