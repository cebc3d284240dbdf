/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name; where its bytes are no UTF-8, the escaped form for messages, which opens nothing.
    package var name: String
    /// The name's real bytes where they are no UTF-8; nil for every normal name.
    package var invalidBytes: [UInt8]?
    /// `.unknown` where the file system does not say; ask `status`.
    package var kind: FileStatus.Kind
    package var inode: UInt64

    package init(name: String, invalidBytes: [UInt8]? = nil, kind: FileStatus.Kind, inode: UInt64) {
        self.name = name
        self.invalidBytes = invalidBytes
        self.kind = kind
        self.inode = inode
    }
}

/// Printable form of bytes that may be no text: control characters, backslashes and what is no UTF-8 become `\xNN`.
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
