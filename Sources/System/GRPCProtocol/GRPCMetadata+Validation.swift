extension GRPCMetadata {
    /// Checks that HTTP/2 can carry all keys and values.
    ///
    /// - Throws: `invalidArgument`, with the key and never the value in its message.
    package func validate() throws(GRPCStatus) {
        for entry in entries {
            guard !entry.key.isEmpty, entry.key.utf8.allSatisfy(Self.isLegalInKey) else {
                throw GRPCStatus(.invalidArgument, "The metadata key \"\(entry.key)\" is not legal.")
            }
            if entry.isBinary { continue }
            guard entry.bytes.allSatisfy({ (0x20...0x7e).contains($0) }) else {
                throw GRPCStatus(
                    .invalidArgument,
                    "The metadata value of \"\(entry.key)\" is not printable ASCII; use a key that ends in \"-bin\".")
            }
        }
    }

    private static func isLegalInKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
