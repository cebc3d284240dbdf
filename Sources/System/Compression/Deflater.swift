import CZlib

/// Compresses buffers into zlib streams (RFC 1950), one at a time, keeping its 256 KiB of tables between them.
///
/// `@unchecked Sendable`: the stream is owned by this value alone, which cannot be copied, and is only touched
/// through `mutating` methods.
package struct Deflater: ~Copyable, @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>

    /// `level` runs from 1 (fast) to 9 (small).
    package init(level: Int) throws(CompressionError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = deflateInit_(
            stream, Int32(clamping: level), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            throw CompressionError(.outOfMemory, "zlib cannot start a stream at level \(level): status \(status)")
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Writes the compressed form of `input` to `output` and returns its length; nil if it does not fit. A caller who
    /// wants a gain gives a buffer that is smaller than the input and stops paying as soon as there is none.
    package mutating func compress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard deflateReset(stream) == Z_OK else { return nil }
        return stream.run(from: input, into: output) { isLast in deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH) }
            .endedAt
    }
}
