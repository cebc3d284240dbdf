import COpenSSL

/// SHA-256 of a stream of bytes (FIPS 180-4).
///
///     var hash = SHA256()
///     hash.update(part)
///     let digest = hash.finish()
package struct SHA256: Sendable {
    var context = SHA256_CTX()

    package init() { SHA256_Init(&context) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if let base = bytes.baseAddress { SHA256_Update(&context, base, bytes.count) }
    }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    package mutating func update(_ bytes: ArraySlice<UInt8>) { bytes.withUnsafeBytes { update($0) } }

    package mutating func update(_ text: String) {
        var text = text
        text.withUTF8 { update(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the digest of all bytes since the start or the last `finish`, and starts a new
    /// message.
    package mutating func finish() -> SHA256Digest {
        let digest = SHA256Digest { output in
            _ = SHA256_Final(output.baseAddress?.assumingMemoryBound(to: UInt8.self), &context)
        }
        SHA256_Init(&context)
        return digest
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
