import CZlib

/// Restores buffers from zlib streams (RFC 1950), never writing more than the room that the caller gives.
///
/// `@unchecked Sendable`: the stream is owned by this value alone, which cannot be copied, and is only touched
/// through `mutating` methods.
package struct Inflater: ~Copyable, @unchecked Sendable {
    private let stream: UnsafeMutablePointer<z_stream>

    package init() throws(CompressionError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit_(stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            throw CompressionError(.outOfMemory, "zlib cannot start a stream: status \(status)")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Writes what `input` holds to `output` and returns its length. The stream must be whole, end where `input` ends
    /// and fit into `output`; its checksum is verified.
    package mutating func decompress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CompressionError) -> Int {
        guard inflateReset(stream) == Z_OK else { throw CompressionError(.outOfMemory, "zlib cannot reset a stream") }
        let run = stream.run(from: input, into: output) { _ in inflate(stream, Z_NO_FLUSH) }
        switch run.status {
        case Z_STREAM_END:
            guard run.inputLeft == 0 else {
                throw CompressionError(.tooLong, "\(run.inputLeft) bytes follow the end of a zlib stream")
            }
            return run.outputCount
        case Z_MEM_ERROR:
            throw CompressionError(.outOfMemory, "zlib is out of memory")
        case Z_OK, Z_BUF_ERROR:
            if run.inputLeft == 0, run.outputCount < output.count {
                throw CompressionError(.truncated, "a zlib stream ends early, after \(input.count) bytes")
            }
            // The room is used up; whether the stream was cut as well no longer matters.
            throw CompressionError(.tooLong, "a zlib stream holds more than the \(output.count) bytes announced")
        default:
            throw CompressionError(.corrupt, "a zlib stream is damaged after \(run.outputCount) bytes of output")
        }
    }
}
