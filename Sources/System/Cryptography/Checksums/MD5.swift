/// MD5 of a stream of bytes (RFC 1321): a checksum of the S3 protocol (`Content-MD5`, `ETag`), not
/// a proof of origin.
package struct MD5: ~Copyable, Sendable {
    private static let algorithm = MessageDigest.Algorithm(named: "MD5")

    private var digest = MessageDigest(algorithm)

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { digest.update($0) } }

    package mutating func update(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { digest.update($0) } }

    /// Returns the 16-byte digest of all bytes since the start or the last `finish`, and starts a
    /// new message.
    package mutating func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            digest.finish(into: UnsafeMutableRawBufferPointer(buffer))
            count = 16
        }
    }

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = MD5()
        hash.update(bytes)
        return hash.finish()
    }
}
