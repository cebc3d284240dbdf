/// The name of an object in a store: 1 to 1024 bytes of UTF-8 without NUL, as in S3. Slashes have
/// no special meaning.
public struct ObjectKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Creates a key. Throws `.invalid` if the text has a wrong length or contains NUL.
    public init(_ text: String) throws(ObjectStorageError) {
        guard (1...1024).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ObjectStorageError(
                .invalid, "a key of \(text.utf8.count) bytes cannot name an object; use 1 to 1024 bytes without NUL")
        }
        self.text = text
    }

    /// Creates a key from parts that are known to be valid.
    init(unchecked text: String) { self.text = text }

    /// The name as text.
    public var description: String { text }

    /// Orders keys by their bytes, which is the order of S3 listings.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Compares keys by their bytes, because strings compare by canonical equivalence.
    public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    /// Hashes the bytes of the key.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
