/// The bytes of a text file of unknown origin.
enum SourceText {
    /// The text without a byte-order mark; nil for what is no UTF-8.
    static func text(_ bytes: ArraySlice<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }

    /// Without the byte-order mark of UTF-8.
    static func content(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    }

    /// `UTF-16` or `UTF-32` for a file that begins with the byte-order mark of one of them.
    static func foreignEncoding(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return "UTF-32" }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return "UTF-16" }
        return nil
    }

    /// The lines without their endings: `\n` and `\r\n`; where `\r` is one too, a lone one as well.
    /// No other character ends a line.
    static func lines(_ bytes: ArraySlice<UInt8>, carriageReturnsEnd: Bool) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let line = line.last == 0x0D ? line.dropLast() : line
            if carriageReturnsEnd {
                lines += line.split(separator: 0x0D, omittingEmptySubsequences: false)
            } else {
                lines.append(line)
            }
        }
        return lines
    }

    /// A short name for a content: FNV-1a with 64 bits, and the length.
    static func fingerprint(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return "\(bytes.count)-\(String(hash, radix: 16))"
    }
}
