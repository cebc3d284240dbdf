/// The key-value pairs that are sent before (headers) and after (trailers) the messages of a call.
///
/// Keys compare without regard to case and are kept in lower case, as HTTP/2 requires. A key may
/// occur several times, and entries keep their order. The value of a key that ends in `-bin` is
/// arbitrary bytes; every other value must be printable ASCII. A call with an illegal key or value
/// fails with `invalidArgument`.
package struct GRPCMetadata: Sendable, Hashable {
    /// One key with one of its values.
    package struct Entry: Sendable, Hashable {
        package let key: String
        package let bytes: [UInt8]

        /// The value as text; bytes that are not UTF-8 are replaced by U+FFFD.
        package var value: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// All entries in the order in which they were added or received.
    package private(set) var entries: [Entry] = []

    package init() {}

    package mutating func add(_ value: String, for key: String) {
        add(Array(value.utf8), for: key)
    }

    /// Adds bytes. The key should end in `-bin`, so that the transport sends them as base64.
    package mutating func add(_ bytes: [UInt8], for key: String) {
        entries.append(Entry(key: key.lowercased(), bytes: bytes))
    }

    package mutating func removeAll(_ key: String) {
        let key = key.lowercased()
        entries.removeAll { $0.key == key }
    }

    /// The first value of a key. Setting it replaces all values of the key.
    package subscript(key: String) -> String? {
        get { first(key)?.value }
        set {
            removeAll(key)
            if let newValue { add(newValue, for: key) }
        }
    }

    /// Returns the first value of a key as bytes, with base64 decoded.
    package func bytes(_ key: String) -> [UInt8]? { first(key)?.bytes }

    /// Returns all values of a key in order.
    package func values(_ key: String) -> [String] {
        let key = key.lowercased()
        return entries.filter { $0.key == key }.map(\.value)
    }

    private func first(_ key: String) -> Entry? {
        let key = key.lowercased()
        return entries.first { $0.key == key }
    }
}

extension GRPCMetadata: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        for (key, value) in elements { add(value, for: key) }
    }
}

extension GRPCMetadata: CustomStringConvertible {
    /// The keys without the values, which may be bearer tokens.
    package var description: String { "[\(entries.map(\.key).joined(separator: ", "))]" }
}
