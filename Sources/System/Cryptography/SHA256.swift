/// SHA-256 of a stream of bytes (FIPS 180-4).
///
///     var hash = SHA256()
///     hash.update(part)
///     let digest = hash.finish()
package struct SHA256: ~Copyable, Sendable {
    private static let algorithm = MessageDigest.Algorithm(named: "SHA256")

    private var digest = MessageDigest(algorithm)

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digest.update($0) } }

    package mutating func update(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { digest.update($0) } }

    package mutating func update(_ text: String) {
        var text = text
        text.withUTF8 { digest.update(UnsafeRawBufferPointer($0)) }
    }

    /// The digest of everything since the start or the last `finish`; what follows begins a new message.
    package mutating func finish() -> SHA256Digest {
        SHA256Digest { digest.finish(into: $0) }
    }

    package static func hash(_ bytes: UnsafeRawBufferPointer) -> SHA256Digest {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }

    package static func hash(_ bytes: [UInt8]) -> SHA256Digest { bytes.withUnsafeBytes { hash($0) } }

    package static func hash(_ bytes: ArraySlice<UInt8>) -> SHA256Digest { bytes.withUnsafeBytes { hash($0) } }

    package static func hash(_ text: String) -> SHA256Digest {
        var hash = SHA256()
        hash.update(text)
        return hash.finish()
    }
}
