import CDeflate

/// Restores buffers from zlib streams (RFC 1950) or gzip files (RFC 1952), never writing more than the caller allows.
///
/// `@unchecked Sendable`: the decompressor is owned by this value alone, which cannot be copied, and is only touched
/// through `mutating` methods.
package struct Inflater: ~Copyable, @unchecked Sendable {
    /// What is around the deflated bytes.
    package enum Format: Sendable {
        case zlib, gzip
    }

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
        guard let length = try attempt(input, .zlib, into: output) else {
            throw CompressionError(.tooLong, "a zlib stream holds more than the \(output.count) bytes announced")
        }
        return length
    }

    /// What `input` holds, where nobody has announced how much that is. The stream must be whole and end where `input` ends; its
    /// checksum is verified.
    /// - Parameter limit: largest result, in bytes; nil for what the format itself allows, 1,032 times the input.
    /// - Throws: `tooLong` beyond the limit, after having used that much memory.
    package mutating func decompress(
        _ input: [UInt8], as format: Format, limit: Int?
    ) throws(CompressionError) -> [UInt8] {
        let most = min(limit ?? .max, (input.count + 1) * Self.largestRatio)
        var room = min(most, max(4 * input.count, 4 << 10))
        while true {
            var output = [UInt8](repeating: 0, count: room)
            let result = output.withUnsafeMutableBytes { output in
                input.withUnsafeBytes { input in
                    Result { () throws(CompressionError) in try attempt(input, format, into: output) }
                }
            }
            if let length = try result.get() {
                output.removeSubrange(length...)
                return output
            }
            guard room < most else {
                throw CompressionError(.tooLong, "a compressed buffer holds more than the \(most) bytes allowed")
            }
            room = min(most, 4 * room)
        }
    }

    /// Deflate makes no more than 258 bytes of two bits (RFC 1951).
    private static let largestRatio = 1032

    /// The length, or nil where there is more than fits.
    private mutating func attempt(
        _ input: UnsafeRawBufferPointer, _ format: Format, into output: UnsafeMutableRawBufferPointer
    ) throws(CompressionError) -> Int? {
        let decompress =
            switch format {
            case .zlib: libdeflate_zlib_decompress_ex
            case .gzip: libdeflate_gzip_decompress_ex
            }
        var (read, written) = (0, 0)
        switch decompress(
            decompressor, input.baseAddress, input.count, output.baseAddress, output.count, &read, &written)
        {
        case LIBDEFLATE_SUCCESS:
            guard read == input.count else {
                throw CompressionError(.tooLong, "\(input.count - read) bytes follow the end of a \(format) stream")
            }
            return written
        case LIBDEFLATE_INSUFFICIENT_SPACE: return nil
        default:
            throw CompressionError(.corrupt, "a \(format) stream of \(input.count) bytes is damaged or cut")
        }
    }
}
