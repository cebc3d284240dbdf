import CDeflate

/// Compresses buffers into zlib streams (RFC 1950), one at a time, keeping its tables between them.
///
/// `@unchecked Sendable`: the compressor is owned by this value alone, which cannot be copied, and is only touched
/// through `mutating` methods.
package struct Deflater: ~Copyable, @unchecked Sendable {
    private let compressor: OpaquePointer

    /// `level` runs from 1 (fast) to 9 (small).
    package init(level: Int) throws(CompressionError) {
        guard let compressor = libdeflate_alloc_compressor(Int32(clamping: level)) else {
            throw CompressionError(.outOfMemory, "no memory for compressing at level \(level)")
        }
        self.compressor = compressor
    }

    deinit { libdeflate_free_compressor(compressor) }

    /// Writes the compressed form of `input` to `output` and returns its length; nil if it does not fit. A caller who
    /// wants a gain gives a buffer that is smaller than the input and stops paying as soon as there is none.
    package mutating func compress(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Int? {
        let length = libdeflate_zlib_compress(
            compressor, input.baseAddress, input.count, output.baseAddress, output.count)
        return length > 0 ? length : nil
    }
}
