import CMultiBufferHash
import COpenSSL

/// SHA-256 of a stream of bytes (FIPS 180-4).
///
///     var hash = SHA256()
///     hash.update(part)
///     let digest = hash.finish()
package struct SHA256: Sendable {
    static let blockSize = Int(ferry_sha256_block)

    /// The hash of the whole blocks so far.
    var state = Self.start
    /// The bytes after the last whole block, in front.
    private var rest = InlineArray<64, UInt8>(repeating: 0)
    /// The bytes of the message so far.
    private var byteCount: UInt64 = 0

    /// FIPS 180-4, 5.3.3.
    private static let start = ferry_sha256_state(
        h: (
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
        ))

    package init() {}

    /// The number of bytes after the last whole block.
    private var restCount: Int { Int(byteCount % UInt64(Self.blockSize)) }

    /// The number of bytes that complete the last block.
    var missing: Int { (Self.blockSize - restCount) % Self.blockSize }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes[...]
        let filled = restCount
        byteCount &+= UInt64(bytes.count)
        if filled > 0 {
            let first = bytes.prefix(Self.blockSize - filled)
            keep(first, from: filled)
            guard filled + first.count == Self.blockSize else { return }
            hashRest()
            bytes = bytes.dropFirst(first.count)
        }
        let blocks = bytes.count / Self.blockSize
        Self.hashBlocks(UnsafeRawBufferPointer(rebasing: bytes).baseAddress, blocks, &state)
        keep(bytes.dropFirst(blocks * Self.blockSize), from: 0)
    }

    /// Continues after blocks of the message that were hashed elsewhere, from this value's state to that one.
    ///
    /// - Precondition: `missing` is 0.
    mutating func skip(_ blocks: Int, to state: ferry_sha256_state) {
        self.state = state
        byteCount &+= UInt64(blocks * Self.blockSize)
    }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>, from start: Int) {
        for (index, byte) in bytes.enumerated() { rest[start + index] = byte }
    }

    private mutating func hashRest() {
        rest.span.withUnsafeBytes { Self.hashBlocks($0.baseAddress, 1, &state) }
    }

    /// Hashes whole blocks, one message at a time.
    static func hashBlocks(_ bytes: UnsafeRawPointer?, _ blocks: Int, _ state: inout ferry_sha256_state) {
        guard blocks > 0, let bytes else { return }
        withUnsafeMutableBytes(of: &state.h) { words in
            ferry_sha256_blocks(
                words.baseAddress?.assumingMemoryBound(to: UInt32.self), bytes.assumingMemoryBound(to: UInt8.self),
                blocks)
        }
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
        let bits = byteCount &* 8
        // FIPS 180-4, 5.1.1: a one, zeros, and the number of bits, to the end of a block.
        var padding = [0x80] + [UInt8](repeating: 0, count: (2 * Self.blockSize - 9 - restCount) % Self.blockSize)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            padding.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        update(padding)
        let digest = SHA256Digest { output in
            withUnsafeBytes(of: state.h) { words in
                for (index, word) in words.bindMemory(to: UInt32.self).enumerated() {
                    output.storeBytes(of: word.bigEndian, toByteOffset: 4 * index, as: UInt32.self)
                }
            }
        }
        self = SHA256()
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
