/// The key-value pairs that travel before (headers) and after (trailers) the messages of a call.
///
/// Keys are compared without case and kept in lower case, as HTTP/2 wants them. A key may occur several times; the
/// order of the entries is kept. The value of a key that ends in `-bin` is any bytes; every other value must be
/// printable ASCII. A key or value that breaks this fails the call that carries it with `invalidArgument`.
package struct GRPCMetadata: Sendable, Hashable {
    /// One key with one of its values.
    package struct Entry: Sendable, Hashable {
        package let key: String
        package let bytes: [UInt8]

        /// The value as text; bytes that are not UTF-8 are replaced by U+FFFD.
        package var value: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// All entries in the order they were added or received.
    package private(set) var entries: [Entry] = []

    package init() {}

    package mutating func add(_ value: String, for key: String) {
        add(Array(value.utf8), for: key)
    }

    /// Adds bytes. The key should end in `-bin`; the transport then carries them as base64.
    package mutating func add(_ bytes: [UInt8], for key: String) {
        entries.append(Entry(key: key.lowercased(), bytes: bytes))
    }

    package mutating func removeAll(_ key: String) {
        let key = key.lowercased()
        entries.removeAll { $0.key == key }
    }

    /// The first value of a key; setting replaces all of its values.
    package subscript(key: String) -> String? {
        get { first(key)?.value }
        set {
            removeAll(key)
            if let newValue { add(newValue, for: key) }
        }
    }

    /// The first value of a key as bytes; base64 is already undone.
    package func bytes(_ key: String) -> [UInt8]? { first(key)?.bytes }

    /// All values of a key in order.
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
    /// The keys only: values hold bearer tokens.
    package var description: String { "[\(entries.map(\.key).joined(separator: ", "))]" }
}
