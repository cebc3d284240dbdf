import COpenSSL

/// The SHA-256 (FIPS 180-4) of a stream of bytes and of each of its parts, in one pass: where the processor has instructions for it,
/// both take hardly longer than one.
///
///     var hash = NestedSHA256()
///     hash.beginPart(header)
///     hash.update(bytes)
///     let part = hash.finishPart()
///     let whole = hash.finish()
package struct NestedSHA256: Sendable {
    static let hasInstructions = ferry_sha256_has_instructions()

    private var whole = SHA256_CTX()
    private var part = SHA256_CTX()

    package init() {
        SHA256_Init(&whole)
        SHA256_Init(&part)
    }

    /// Begins a part anew, with bytes that the whole does not have.
    package mutating func beginPart(_ head: [UInt8]) {
        SHA256_Init(&part)
        SHA256_Update(&part, head, head.count)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        ferry_sha256_pair_update(&whole, &part, base, bytes.count, Self.hasInstructions)
    }

    /// Bytes that no part has.
    package mutating func updateWhole(_ bytes: UnsafeRawBufferPointer) {
        SHA256_Update(&whole, bytes.baseAddress, bytes.count)
    }

    /// The digest of the part begun last.
    package mutating func finishPart() -> SHA256Digest { Self.finish(&part) }

    /// The digest of all bytes since the start or the last `finish`; what follows begins a new stream.
    package mutating func finish() -> SHA256Digest { Self.finish(&whole) }

    static func finish(_ context: inout SHA256_CTX) -> SHA256Digest {
        let digest = SHA256Digest { output in
            _ = SHA256_Final(output.baseAddress?.assumingMemoryBound(to: UInt8.self), &context)
        }
        SHA256_Init(&context)
        return digest
    }
}
