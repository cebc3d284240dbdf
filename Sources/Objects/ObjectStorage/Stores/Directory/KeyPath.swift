/// Converts keys to paths of files and back.
///
/// A key is split at its slashes. Each part but the last becomes a directory whose name ends in
/// `.d`, so that the objects `a` and `a/b` can exist side by side. Control characters, `%`, a
/// leading dot and a final `.d` of the last part are written as `%` and two hexadecimal digits; an
/// empty part is a single `%`. For that reason no key leaves the root directory, names a temporary
/// file, or has the path of another key.
enum KeyPath {
    static let directorySuffix = ".d"
    /// The maximum length of a file name in bytes. File systems allow 255.
    private static let longestName = 240
    private static let percent = UInt8(ascii: "%")
    private static let dot = UInt8(ascii: ".")

    static func path(of key: ObjectKey) throws(ObjectStorageError) -> String {
        let parts = key.text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var path = ""
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let name = encoded(part, isLast: isLast)
            guard name.count <= longestName else {
                throw ObjectStorageError(
                    .invalid,
                    "a part of a key has \(part.count) bytes; a directory store allows up to \(longestName) between slashes"
                )
            }
            path += String(decoding: name, as: UTF8.self)
            if !isLast { path += directorySuffix + "/" }
        }
        return path
    }

    /// Returns the part of a key that the name of a directory stands for; nil if the name does not
    /// come from this store.
    static func part(ofDirectory name: String) -> [UInt8]? {
        guard name.hasSuffix(directorySuffix) else { return nil }
        return decoded(name.utf8.dropLast(directorySuffix.utf8.count))
    }

    /// Returns the last part of a key that the name of a file stands for; nil if the name does not
    /// come from this store.
    static func part(ofFile name: String) -> [UInt8]? {
        name.hasSuffix(directorySuffix) || name.utf8.first == dot ? nil : decoded(name.utf8[...])
    }

    private static func encoded(_ part: Substring.UTF8View, isLast: Bool) -> [UInt8] {
        guard !part.isEmpty else { return [percent] }
        let looksLikeDirectory = isLast && part.suffix(2).elementsEqual(directorySuffix.utf8)
        var name: [UInt8] = []
        for (index, byte) in part.enumerated() {
            let isFinalDot = looksLikeDirectory && index == part.count - 2
            if byte < 0x20 || byte == 0x7F || byte == percent || (byte == dot && (index == 0 || isFinalDot)) {
                name.append(percent)
                name += hexadecimal(byte >> 4) + hexadecimal(byte & 0xF)
            } else {
                name.append(byte)
            }
        }
        return name
    }

    private static func decoded(_ name: Substring.UTF8View) -> [UInt8]? {
        if name.elementsEqual([percent]) { return [] }
        var part: [UInt8] = []
        var rest = name[...]
        while let byte = rest.popFirst() {
            guard byte == percent else {
                part.append(byte)
                continue
            }
            guard let high = rest.popFirst(), let low = rest.popFirst(),
                let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
            else { return nil }
            part.append(value)
        }
        return part.isEmpty ? nil : part
    }

    private static func hexadecimal(_ digit: UInt8) -> [UInt8] { Array(String(digit, radix: 16).utf8) }
}
