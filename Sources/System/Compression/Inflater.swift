import CDeflate

/// Restores buffers from zlib streams (RFC 1950), never writing more than the room that the caller gives.
///
/// `@unchecked Sendable`: the decompressor is owned by this value alone, which cannot be copied, and is only touched
/// through `mutating` methods.
package struct Inflater: ~Copyable, @unchecked Sendable {
    private let decompressor: OpaquePointer

    package init() throws(CompressionError) {
        guard let decompressor = libdeflate_alloc_decompressor() else {
            throw CompressionError(.outOfMemory, "no memory for inflating")
        }
        self.decompressor = decompressor
    }

    deinit { libdeflate_free_decompressor(decompressor) }

    /// Writes what `input` holds to `output` and returns its length. The stream must be whole, end where `input` ends
    /// and fit into `output`; its checksum is verified.
    package mutating func decompress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CompressionError) -> Int {
        var (read, written) = (0, 0)
        let result = libdeflate_zlib_decompress_ex(
            decompressor, input.baseAddress, input.count, output.baseAddress, output.count, &read, &written)
        switch result {
        case LIBDEFLATE_SUCCESS:
            guard read == input.count else {
                throw CompressionError(.tooLong, "\(input.count - read) bytes follow the end of a zlib stream")
            }
            return written
        case LIBDEFLATE_INSUFFICIENT_SPACE:
            throw CompressionError(.tooLong, "a zlib stream holds more than the \(output.count) bytes announced")
        default:
            throw CompressionError(.corrupt, "a zlib stream of \(input.count) bytes is damaged or cut")
        }
    }
}
