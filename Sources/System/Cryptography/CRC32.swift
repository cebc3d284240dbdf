/// The 32-bit cyclic redundancy checks that S3 knows as `CRC32` and `CRC32C`, over a stream of bytes.
///
/// Table driven, sixteen bytes a step ("slicing", Kounavis and Berry 2005).
package struct CRC32: Sendable {
    package struct Polynomial: Sendable {
        fileprivate let tables: [UInt32]

        /// IEEE 802.3, as gzip and zip use it.
        package static let ieee = Polynomial(reversed: 0xEDB8_8320)
        /// Castagnoli's, as iSCSI and ext4 use it (RFC 3720).
        package static let castagnoli = Polynomial(reversed: 0x82F6_3B78)

        private init(reversed polynomial: UInt32) {
            var tables = [UInt32](repeating: 0, count: 16 * 256)
            for index in 0..<256 {
                var value = UInt32(index)
                for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ polynomial : value >> 1 }
                tables[index] = value
            }
            for index in 256..<tables.count {
                let previous = tables[index - 256]
                tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
            }
            self.tables = tables
        }
    }

    private let polynomial: Polynomial
    private var state: UInt32 = 0xFFFF_FFFF

    package init(_ polynomial: Polynomial) { self.polynomial = polynomial }

    /// The check of everything so far.
    package var value: UInt32 { ~state }

    /// `value` in network byte order, as S3's checksum headers carry it (in base64).
    package var bytes: [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var crc = state
        polynomial.tables.withUnsafeBufferPointer { table in
            var offset = 0
            while bytes.count - offset >= 16 {
                let low = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                let high = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
                crc = Self.fold(low ^ UInt64(crc), tables: table, from: 15) ^ Self.fold(high, tables: table, from: 7)
                offset += 16
            }
            while offset < bytes.count {
                crc = crc >> 8 ^ table[Int((crc ^ UInt32(bytes[offset])) & 0xFF)]
                offset += 1
            }
        }
        state = crc
    }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    package mutating func update(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { update($0) } }

    package static func checksum(_ bytes: [UInt8], _ polynomial: Polynomial) -> UInt32 {
        var check = CRC32(polynomial)
        check.update(bytes)
        return check.value
    }

    @inline(__always)
    private static func fold(_ word: UInt64, tables: UnsafeBufferPointer<UInt32>, from last: Int) -> UInt32 {
        let a = tables[(last - 0) << 8 | Int(word & 0xFF)] ^ tables[(last - 1) << 8 | Int(word >> 8 & 0xFF)]
        let b = tables[(last - 2) << 8 | Int(word >> 16 & 0xFF)] ^ tables[(last - 3) << 8 | Int(word >> 24 & 0xFF)]
        let c = tables[(last - 4) << 8 | Int(word >> 32 & 0xFF)] ^ tables[(last - 5) << 8 | Int(word >> 40 & 0xFF)]
        let d = tables[(last - 6) << 8 | Int(word >> 48 & 0xFF)] ^ tables[(last - 7) << 8 | Int(word >> 56)]
        return a ^ b ^ c ^ d
    }
}
