import Cryptography

extension GRPCMetadata.Entry {
    /// Whether the value may be arbitrary bytes, which are sent as base64.
    package var isBinary: Bool { key.hasSuffix("-bin") }
}

extension GRPCMetadata {
    /// Adds the values of a received header field. A binary field may hold several.
    ///
    /// - Returns: Whether the field could be read. The text of a binary field must be base64, with
    ///   or without padding.
    package mutating func add(field name: String, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard name.hasSuffix("-bin") else {
            add(Array(value), for: name)
            return true
        }
        for part in value.split(separator: UInt8(ascii: ",")) {
            let digits = part.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "=") }
            let text = String(decoding: digits, as: UTF8.self)
            let padding = String(repeating: "=", count: (4 - digits.count % 4) % 4)
            guard let bytes = Base64.decode(text + padding) else { return false }
            add(bytes, for: name)
        }
        return true
    }
}
