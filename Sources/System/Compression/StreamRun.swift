import CZlib

/// How far one pass over a zlib stream came.
struct StreamRun {
    var status: Int32
    var inputLeft: Int
    var outputCount: Int

    /// The length of the output if the stream came to its end.
    var endedAt: Int? { status == Z_STREAM_END ? outputCount : nil }
}

extension UnsafeMutablePointer<z_stream> {
    /// Calls `step` until the stream ends, fails or makes no progress. zlib counts in 32 bits, so longer buffers are
    /// fed in pieces; `step` is told when the piece is the last one.
    func run(
        from input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
        step: (_ isLast: Bool) -> Int32
    ) -> StreamRun {
        // zlib refuses null pointers even where the length is zero.
        var nothing: UInt8 = 0
        return withUnsafeMutablePointer(to: &nothing) { nothing in
            let source = input.baseAddress ?? UnsafeRawPointer(nothing)
            let target = output.baseAddress ?? UnsafeMutableRawPointer(nothing)
            var (read, written) = (0, 0)
            while true {
                let (readable, writable) = (input.count - read, output.count - written)
                let (availableIn, availableOut) = (UInt32(clamping: readable), UInt32(clamping: writable))
                pointee.next_in = UnsafeMutablePointer<UInt8>(
                    mutating: (source + read).assumingMemoryBound(to: UInt8.self))
                pointee.avail_in = availableIn
                pointee.next_out = (target + written).assumingMemoryBound(to: UInt8.self)
                pointee.avail_out = availableOut
                let status = step(Int(availableIn) == readable)
                let progress = (Int(availableIn - pointee.avail_in), Int(availableOut - pointee.avail_out))
                read += progress.0
                written += progress.1
                guard status == Z_OK, progress != (0, 0) else {
                    return StreamRun(status: status, inputLeft: input.count - read, outputCount: written)
                }
            }
        }
    }
}
