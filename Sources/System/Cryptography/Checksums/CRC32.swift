import CISAL

/// The 32-bit cyclic redundancy checks `CRC32` and `CRC32C` of S3, computed over a stream of bytes.
package struct CRC32: Sendable {
    package enum Polynomial: Sendable {
        /// The polynomial of IEEE 802.3, gzip and zip.
        case ieee
        /// Castagnoli's polynomial, used by iSCSI and ext4 (RFC 3720).
        case castagnoli

        fileprivate var reflected: UInt32 {
            switch self {
            case .ieee: 0xEDB8_8320
            case .castagnoli: 0x82F6_3B78
            }
        }
    }

    private let polynomial: Polynomial
    /// The checksum of all bytes so far.
    package private(set) var value: UInt32 = 0

    package init(_ polynomial: Polynomial) { self.polynomial = polynomial }

    /// The checksum in network byte order, as in S3's checksum headers (in base64).
    package var bytes: [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        defer { ferry_isal_end() }
        // ISA-L counts in 32 bits.
        for start in stride(from: 0, to: bytes.count, by: 1 << 30) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + (1 << 30), bytes.count)])
            guard let base = part.bindMemory(to: UInt8.self).baseAddress else { return }
            switch polynomial {
            case .ieee: value = crc32_gzip_refl(value, base, UInt64(part.count))
            case .castagnoli:
                // The library only reads the bytes, although its declaration is not const.
                value = ~crc32_iscsi(UnsafeMutablePointer(mutating: base), Int32(part.count), ~value)
            }
        }
    }

    /// Appends bytes of which only the checksum and the length are known.
    package mutating func append(_ check: [UInt8], length: Int64) {
        let check = check.reduce(0) { $0 << 8 | UInt32($1) }
        value = CRCCombination.combined(value, check, length: length, polynomial: polynomial.reflected)
    }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    package mutating func update(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { update($0) } }

    package static func checksum(_ bytes: [UInt8], _ polynomial: Polynomial) -> UInt32 {
        var check = CRC32(polynomial)
        check.update(bytes)
        return check.value
    }
}
