import CDeflate

/// Decompresses zlib streams (RFC 1950) and gzip files (RFC 1952), and never writes more than the
/// caller allows.
///
/// `@unchecked Sendable`: the decompressor is owned by this noncopyable value and only accessed in
/// `mutating` methods.
package struct Inflater: ~Copyable, @unchecked Sendable {
    /// The container format around the deflated bytes.
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

    /// Decompresses `input` into `output` and returns the length of the result.
    ///
    /// The stream must be complete, end where `input` ends and fit into `output`. Its checksum is
    /// verified.
    package mutating func decompress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CompressionError) -> Int {
        guard let length = try attempt(input, .zlib, into: output) else {
            throw CompressionError(.tooLong, "a zlib stream holds more than the \(output.count) bytes announced")
        }
        return length
    }

    /// Decompresses `input`, whose decompressed length is unknown.
    ///
    /// The stream must be complete and end where `input` ends. Its checksum is verified.
    ///
    /// - Parameter limit: the maximum length of the result in bytes; nil for the maximum of the
    ///   format itself, 1,032 times the input.
    /// - Throws: `tooLong` if the result exceeds the limit, after that much memory was used.
    package mutating func decompress(
        _ input: [UInt8], as format: Format, limit: Int?
    ) throws(CompressionError) -> [UInt8] {
        let most = min(limit ?? .max, (input.count + 1) * Self.largestRatio)
        var capacity = min(most, max(4 * input.count, 4 << 10))
        while true {
            var output = [UInt8](repeating: 0, count: capacity)
            let result = output.withUnsafeMutableBytes { output in
                input.withUnsafeBytes { input in
                    Result { () throws(CompressionError) in try attempt(input, format, into: output) }
                }
            }
            if let length = try result.get() {
                output.removeSubrange(length...)
                return output
            }
            guard capacity < most else {
                throw CompressionError(.tooLong, "a compressed buffer holds more than the \(most) bytes allowed")
            }
            capacity = min(most, 4 * capacity)
        }
    }

    /// The maximum ratio of Deflate: two bits can encode at most 258 bytes (RFC 1951).
    private static let largestRatio = 1032

    /// Returns the decompressed length; nil if the result does not fit.
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
