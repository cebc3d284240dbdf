import CISAL
import Glibc

/// Level 1 of a `Deflater`, implemented with level 2 of ISA-L.
///
/// Measured with logs and tables, it compresses to 0.259 of the size at 540 MiB/s; level 1 of
/// libdeflate compresses to 0.252 at 220 MiB/s.
struct QuickCompressor {
    // Both are on the heap, because each spans many pages.
    private let stream = UnsafeMutablePointer<isal_zstream>.allocate(capacity: 1)
    private let workspace = UnsafeMutablePointer<UInt8>.allocate(capacity: Int(ferry_isal_level_2_workspace))

    init() {
        // ISA-L does not initialize every field. A stale value could be taken for a requested
        // window size.
        memset(stream, 0, MemoryLayout<isal_zstream>.size)
    }

    /// Releases the memory. Must be called exactly once.
    func deallocate() {
        stream.deallocate()
        workspace.deallocate()
    }

    func compress(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        guard let size = UInt32(exactly: input.count) else { return nil }
        defer { ferry_isal_end() }
        isal_deflate_stateless_init(stream)
        stream.pointee.level = 2
        stream.pointee.level_buf = workspace
        stream.pointee.level_buf_size = ferry_isal_level_2_workspace
        stream.pointee.gzip_flag = UInt16(IGZIP_ZLIB)
        stream.pointee.end_of_stream = 1
        // The library only reads the input, although its declaration is not const.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = size
        stream.pointee.next_out = output.assumingMemoryBound(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(clamping: output.count)
        guard isal_deflate_stateless(stream) == COMP_OK else { return nil }
        return Int(stream.pointee.total_out)
    }
}
