/// SHA-1 of a stream of bytes (RFC 3174): a checksum of the S3 protocol (`x-amz-checksum-sha1`),
/// not a proof of origin.
package struct SHA1: ~Copyable, Sendable {
    private static let algorithm = MessageDigest.Algorithm(named: "SHA1")

    private var digest = MessageDigest(algorithm)

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { digest.update(bytes) }

    /// Returns the 20-byte digest of all bytes since the start or the last `finish`, and starts a
    /// new message.
    package mutating func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 20) { buffer, count in
            digest.finish(into: UnsafeMutableRawBufferPointer(buffer))
            count = 20
        }
    }

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA1()
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.finish()
    }
}
