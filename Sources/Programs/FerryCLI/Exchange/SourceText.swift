/// The bytes of a text file of unknown origin.
enum SourceText {
    /// Returns the bytes as text; nil if they are not UTF-8.
    static func text(_ bytes: ArraySlice<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }

    /// Returns the bytes without the byte-order mark of UTF-8.
    static func content(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    }

    /// Returns `UTF-16` or `UTF-32` for a file that starts with the byte-order mark of that
    /// encoding.
    static func foreignEncoding(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return "UTF-32" }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return "UTF-16" }
        return nil
    }

    /// Returns the lines without their line ends, `\n` and `\r\n`, and a lone `\r` if
    /// `carriageReturnsEnd` is set. No other character ends a line.
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

    /// Returns a short identifier of a content: its length and its 64-bit FNV-1a hash.
    static func fingerprint(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return "\(bytes.count)-\(String(hash, radix: 16))"
    }
}
