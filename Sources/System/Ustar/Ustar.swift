/// Archives in memory in the ustar format ("ustar Interchange Format", POSIX.1-2024, pax): files one
/// after another. Files have mode 0600 and belong to user 0.
package enum Ustar {
    private static let block = 512
    private static let nameField = 0..<100
    private static let sizeField = 124..<136
    private static let checkField = 148..<156
    private static let typeField = 156
    private static let magicField = 257..<265
    private static let prefixField = 345..<500
    private static let magic = Array("ustar\u{0}00".utf8)

    /// Returns the size in bytes of an archive with contents of these lengths, including its end.
    package static func size(of contents: some Sequence<Int>) -> Int {
        contents.reduce(2 * block) { $0 + block + padded($1) }
    }

    /// Returns the size in bytes of an archive with one content of this length.
    package static func size(ofOne content: Int) -> Int { 3 * block + padded(content) }

    /// Whether the format can represent the name: in at most 100 bytes, or 155 more before one of
    /// its slashes.
    package static func canName(_ name: String) -> Bool { split(name) != nil }

    /// Appends a file to an archive. `canName` must be true for the name.
    ///
    /// - Parameter time: the modification time in seconds since 1970; a negative one counts as 0.
    package static func append(
        _ content: [UInt8], named name: String, time: Int64 = 0, to archive: inout [UInt8]
    ) {
        guard let header = header(name, size: content.count, time: time) else { return }
        archive += header
        archive += content
        pad(content.count, &archive)
    }

    /// Appends a file whose content `read` writes into a buffer of `size` bytes. `read` returns the
    /// number of bytes it wrote; if these are fewer than `size`, the archive stays unchanged and
    /// the result is false.
    package static func append(
        _ size: Int, named name: String, to archive: inout [UInt8],
        _ read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) rethrows -> Bool {
        guard let header = header(name, size: size) else { return false }
        let start = archive.count
        archive += header
        var isWhole = false
        defer { if !isWhole { archive.removeSubrange(start...) } }
        try archive.append(addingCapacity: size) { room in
            try room.withUnsafeMutableBufferPointer { room, count in
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[..<size])
                count = try read(room)
            }
        }
        isWhole = archive.count == start + block + size
        if isWhole { pad(size, &archive) }
        return isWhole
    }

    private static func pad(_ size: Int, _ archive: inout [UInt8]) {
        archive.append(contentsOf: repeatElement(0, count: padded(size) - size))
    }

    private static func header(_ name: String, size: Int, time: Int64 = 0) -> [UInt8]? {
        guard let (prefix, name) = split(name) else { return nil }
        var header = [UInt8](repeating: 0, count: block)
        func set(_ field: Range<Int>, _ bytes: some Sequence<UInt8>) {
            for (index, byte) in zip(field, bytes) { header[index] = byte }
        }
        set(nameField, name)
        set(100..<108, "0000600\u{0}".utf8)
        set(108..<116, "0000000\u{0}".utf8)
        set(116..<124, "0000000\u{0}".utf8)
        set(sizeField, octal(size, digits: 11))
        set(136..<148, octal(Int(clamping: max(0, time)), digits: 11))
        header[typeField] = UInt8(ascii: "0")
        set(magicField, magic)
        set(prefixField, prefix)
        set(checkField, octal(check(header[...]), digits: 6) + [0, UInt8(ascii: " ")])
        return header
    }

    /// Appends the end of the archive.
    package static func end(_ archive: inout [UInt8]) {
        archive.append(contentsOf: repeatElement(0, count: 2 * block))
    }

    /// Parses an archive. Returns its files in order, without directories.
    ///
    /// - Throws: an error if the archive is malformed, truncated, or contains anything but files
    ///   and directories, such as links or names in extended headers.
    package static func files(
        in archive: [UInt8]
    ) throws(UstarError) -> [(name: String, content: ArraySlice<UInt8>)] {
        var files: [(name: String, content: ArraySlice<UInt8>)] = []
        var offset = 0
        while offset < archive.count {
            guard archive.count - offset >= block else { throw malformed("ends within a header") }
            let header = archive[offset..<offset + block]
            if header.allSatisfy({ $0 == 0 }) { return files }
            func field(_ range: Range<Int>) -> ArraySlice<UInt8> {
                header[(offset + range.lowerBound)..<(offset + range.upperBound)]
            }
            guard field(magicField).starts(with: magic.prefix(5)),
                number(field(checkField)) == check(header), let size = number(field(sizeField))
            else { throw malformed("has no header at byte \(offset)") }
            guard let prefix = text(field(prefixField)), let name = text(field(nameField)), !name.isEmpty else {
                throw malformed("has a name at byte \(offset) that is not UTF-8")
            }
            let path = prefix.isEmpty ? name : "\(prefix)/\(name)"
            let type = archive[offset + typeField]
            offset += block
            guard size <= archive.count - offset else { throw malformed("ends within \(path)") }
            switch type {
            case UInt8(ascii: "0"), 0: files.append((path, archive[offset..<offset + size]))
            case UInt8(ascii: "5"): break
            default: throw malformed("has something in it that is neither a plain file nor a directory: \(path)")
            }
            offset += min(padded(size), archive.count - offset)
        }
        throw malformed("lacks its end")
    }

    private static func malformed(_ what: String) -> UstarError {
        UstarError(message: "the archive \(what); make it in the format of tar --format=ustar")
    }

    private static func padded(_ size: Int) -> Int { (size + block - 1) / block * block }

    /// Splits a name into the part before a slash and the rest; nil if the format cannot represent
    /// it.
    private static func split(_ name: String) -> (prefix: ArraySlice<UInt8>, name: ArraySlice<UInt8>)? {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
        if bytes.count <= nameField.count { return ([], bytes[...]) }
        let slash = bytes.indices.first { bytes[$0] == UInt8(ascii: "/") && bytes.count - $0 - 1 <= nameField.count }
        guard let slash, (1...prefixField.count).contains(slash), slash + 1 < bytes.count else { return nil }
        return (bytes[..<slash], bytes[(slash + 1)...])
    }

    /// Returns the checksum of a header: the sum of its bytes, in which the checksum field itself
    /// counts as spaces.
    private static func check(_ header: ArraySlice<UInt8>) -> Int {
        let field = header.dropFirst(checkField.lowerBound).prefix(checkField.count)
        let all = header.reduce(0) { $0 + Int($1) }
        return field.reduce(all) { $0 - Int($1) + 0x20 }
    }

    private static func octal(_ number: Int, digits: Int) -> [UInt8] {
        let text = String(number, radix: 8)
        return Array((String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8)
    }

    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.drop { $0 == 0x20 }.prefix { (0x30...0x37).contains($0) }
        let rest = field[digits.endIndex...]
        guard !digits.isEmpty, rest.allSatisfy({ $0 == 0 || $0 == 0x20 }) else { return nil }
        // At most eleven digits, which an `Int` can hold.
        return digits.reduce(0) { $0 << 3 | Int($1 - 0x30) }
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String? {
        String(validating: field.prefix { $0 != 0 }, as: UTF8.self)
    }
}

/// The reason for which an archive cannot be read.
package struct UstarError: Error, Hashable, CustomStringConvertible {
    package let message: String

    package var description: String { message }
}
