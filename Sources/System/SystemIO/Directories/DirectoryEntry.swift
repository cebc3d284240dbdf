/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name. If its bytes are not UTF-8, an escaped form for messages, which cannot be opened.
    package var name: String
    /// The name's bytes if they are not UTF-8; otherwise nil.
    package var invalidBytes: [UInt8]?
    /// The kind of file; `.unknown` if the file system does not report it, so that `status` must be
    /// used.
    package var kind: FileStatus.Kind
    package var inode: UInt64

    package init(name: String, invalidBytes: [UInt8]? = nil, kind: FileStatus.Kind, inode: UInt64) {
        self.name = name
        self.invalidBytes = invalidBytes
        self.kind = kind
        self.inode = inode
    }
}

/// Returns a printable form of bytes that may not be text: control characters, backslashes and
/// invalid UTF-8 become `\xNN`.
package func escapedName(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    if let text = String(validating: bytes, as: UTF8.self),
        !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control || $0 == "\\" })
    {
        return text
    }
    var text = ""
    for byte in bytes {
        if byte >= 0x20, byte < 0x7F, byte != 0x5C {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            text += "\\x" + hexadecimal([byte])
        }
    }
    return text
}
