/// The 64-bit cyclic redundancy check of NVM Express, called `CRC64NVME` in S3, computed over a
/// stream of bytes.
package struct CRC64: Sendable {
    /// The checksum of all bytes so far.
    package private(set) var value: UInt64 = 0

    package init() {}

    /// The checksum in network byte order, as in S3's checksum headers (in base64).
    package var bytes: [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt64($0)) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = ~value
        Self.tables.withUnsafeBufferPointer { tables in
            func entry(_ table: Int, _ word: UInt64) -> UInt64 { tables[table << 8 | Int(word & 0xFF)] }
            var offset = 0
            // Eight bytes at a time ("slicing by eight"): each byte is looked up in a table that
            // accounts for the number of bytes after it.
            while offset + 8 <= bytes.count {
                let word = rest ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                rest = 0
                for byte in 0..<8 { rest ^= entry(7 - byte, word >> UInt64(8 * byte)) }
                offset += 8
            }
            while offset < bytes.count {
                rest = entry(0, rest ^ UInt64(bytes[offset])) ^ (rest >> 8)
                offset += 1
            }
        }
        value = ~rest
    }

    /// Appends bytes of which only the checksum and the length are known.
    package mutating func append(_ check: [UInt8], length: Int64) {
        let check = check.reduce(0) { $0 << 8 | UInt64($1) }
        value = CRCCombination.combined(value, check, length: length, polynomial: Self.polynomial)
    }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    /// The polynomial in reflected bit order.
    private static let polynomial: UInt64 = 0x9A6C_9329_AC4B_C9B5

    /// Eight consecutive tables of 256 entries, with bits in reflected order.
    private static let tables: [UInt64] = {
        var tables: [UInt64] = []
        for byte: UInt64 in 0..<256 {
            var rest = byte
            for _ in 0..<8 { rest = rest & 1 == 1 ? (rest >> 1) ^ polynomial : rest >> 1 }
            tables.append(rest)
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 0xFF)] ^ (before >> 8))
        }
        return tables
    }()
}
