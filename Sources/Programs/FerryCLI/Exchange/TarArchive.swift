/// A tar archive in memory, in the ustar format (POSIX.1-1988, as tar(5) describes it).
struct TarArchive {
    private(set) var bytes: [UInt8] = []

    private static let block = 512

    /// Adds a file of mode 0600.
    ///
    /// - Parameters:
    ///   - name: up to 100 bytes.
    ///   - time: seconds since 1970.
    mutating func add(_ name: String, _ content: [UInt8], time: Int64) {
        var header = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: String, at offset: Int, limit: Int) {
            for (index, byte) in text.utf8.prefix(limit).enumerated() { header[offset + index] = byte }
        }
        func octal(_ number: Int64, digits: Int) -> String {
            let text = String(max(0, number), radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(name, at: 0, limit: 100)
        put(octal(0o600, digits: 7), at: 100, limit: 8)
        put(octal(0, digits: 7), at: 108, limit: 8)
        put(octal(0, digits: 7), at: 116, limit: 8)
        put(octal(Int64(content.count), digits: 11), at: 124, limit: 12)
        put(octal(time, digits: 11), at: 136, limit: 12)
        put("0", at: 156, limit: 1)
        put("ustar", at: 257, limit: 6)
        put("00", at: 263, limit: 2)
        // The checksum counts its own field as blanks.
        put("        ", at: 148, limit: 8)
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        put(octal(sum, digits: 6) + "\0 ", at: 148, limit: 8)
        bytes += header + content
        bytes += [UInt8](repeating: 0, count: (Self.block - content.count % Self.block) % Self.block)
    }

    /// The archive with the two empty blocks of its end.
    var finished: [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * Self.block) }
}
