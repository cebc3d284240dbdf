import CDeflate

/// Compresses buffers into zlib streams (RFC 1950), one at a time, keeping its tables between them.
///
/// `@unchecked Sendable`: the compressor is owned by this value alone, which cannot be copied, and is only touched
/// through `mutating` methods.
package struct Deflater: ~Copyable, @unchecked Sendable {
    private enum Compressor {
        case isal(QuickCompressor)
        case libdeflate(OpaquePointer)
    }

    private let compressor: Compressor

    /// `level` runs from 1 (fast) to 9 (small). What a level makes of bytes may change with the library behind it.
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

    /// Writes the compressed form of `input`, of less than 4 GiB, to `output` and returns its length; nil if it does not fit. A
    /// caller who wants a gain gives a buffer that is smaller than the input and stops paying as soon as there is none.
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
