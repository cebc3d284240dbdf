import CDeflate

/// Compresses buffers into zlib streams (RFC 1950), one at a time, and reuses its tables.
///
/// `@unchecked Sendable`: the compressor is owned by this noncopyable value and only accessed in
/// `mutating` methods.
package struct Deflater: ~Copyable, @unchecked Sendable {
    private enum Compressor {
        case isal(QuickCompressor)
        case libdeflate(OpaquePointer)
    }

    private let compressor: Compressor

    /// Creates a compressor.
    ///
    /// - Parameter level: from 1 (fast) to 9 (small). The output of a level may change with the
    ///   library that implements it.
    package init(level: Int) throws(CompressionError) {
        if level <= 1 {
            compressor = .isal(QuickCompressor())
        } else if let tables = libdeflate_alloc_compressor(Int32(clamping: level)) {
            compressor = .libdeflate(tables)
        } else {
            throw CompressionError(.outOfMemory, "no memory for compressing at level \(level)")
        }
    }

    deinit {
        switch compressor {
        case .isal(let compressor): compressor.deallocate()
        case .libdeflate(let tables): libdeflate_free_compressor(tables)
        }
    }

    /// Compresses `input`, which must be smaller than 4 GiB, into `output`. Returns the compressed
    /// length; nil if it does not fit.
    ///
    /// With an output buffer smaller than the input, compression ends as soon as it is clear that
    /// it saves nothing.
    package mutating func compress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Int? {
        switch compressor {
        case .isal(let compressor): return compressor.compress(input, into: output)
        case .libdeflate(let tables):
            let length = libdeflate_zlib_compress(
                tables, input.baseAddress, input.count, output.baseAddress, output.count)
            return length > 0 ? length : nil
        }
    }
}
