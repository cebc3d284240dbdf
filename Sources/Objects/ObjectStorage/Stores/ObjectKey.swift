/// The name of an object in a store: 1 to 1024 bytes of UTF-8 without NUL, as S3 has them. Slashes are just characters
/// that many keys contain.
public struct ObjectKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) throws(ObjectStorageError) {
        guard (1...1024).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ObjectStorageError(
                .invalid, "a key of \(text.utf8.count) bytes cannot name an object; use 1 to 1024 bytes without NUL")
        }
        self.text = text
    }

    /// For keys made of parts that are known to be good.
    init(unchecked text: String) { self.text = text }

    public var description: String { text }

    /// By bytes, as S3 lists them.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    // Strings compare by canonical equivalence, keys by their bytes.
    public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
