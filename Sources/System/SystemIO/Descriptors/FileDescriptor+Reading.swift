import Glibc

extension FileDescriptor {
    /// Reads at most the buffer's length. Returns the number of bytes read; 0 means the end of the
    /// file.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        let count = retry { Glibc.read(rawValue, buffer.baseAddress, buffer.count) }
        guard count >= 0 else { throw .last("read", path) }
        return count
    }

    /// Reads at `offset` without moving the file's position. Returns the number of bytes read; 0
    /// means the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        let count = retry { Glibc.pread(rawValue, buffer.baseAddress, buffer.count, off_t(offset)) }
        guard count >= 0 else { throw .last("read", path) }
        return count
    }

    /// Reads `count` bytes at `offset`. Returns fewer bytes only at the end of the file.
    package func read(_ count: Int, at offset: Int64) throws(SystemError) -> [UInt8] {
        try filled(max(0, count)) { buffer, done throws(SystemError) in
            try read(into: buffer, at: offset + Int64(done))
        }
    }

    /// Reads a head of `headSize` bytes at `offset` and the `count` bytes that follow it, in one
    /// system call if the kernel returns everything at once.
    ///
    /// Both arrays are shorter only at the end of the file.
    package func read(
        _ count: Int, behind headSize: Int, at offset: Int64
    ) throws(SystemError) -> (head: [UInt8], bytes: [UInt8]) {
        let (count, headSize) = (max(0, count), max(0, headSize))
        var failure: SystemError?
        var bytes: [UInt8] = []
        let head = [UInt8](unsafeUninitializedCapacity: headSize) { head, headDone in
            bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
                while headDone + done < headSize + count {
                    let parts = [
                        iovec(iov_base: head.baseAddress.map { $0 + headDone }, iov_len: headSize - headDone),
                        iovec(iov_base: buffer.baseAddress.map { $0 + done }, iov_len: count - done),
                    ]
                    let position = off_t(offset) + off_t(headDone + done)
                    let got = retry { Glibc.preadv(rawValue, parts, 2, position) }
                    guard got > 0 else {
                        if got < 0 { failure = .last("read", path) }
                        return
                    }
                    let ofHead = min(got, headSize - headDone)
                    headDone += ofHead
                    done += got - ofHead
                }
            }
        }
        if let failure { throw failure }
        return (head, bytes)
    }

    /// Reads from the current position to the end of the file.
    ///
    /// Throws `.tooLarge` if there are more than `limit` bytes, before more than `limit` + 1 bytes
    /// are in memory.
    package func readAll(limit: Int = 1 << 30) throws(SystemError) -> [UInt8] {
        let expected = max(0, Int(try status().size))
        var bytes: [UInt8] = []
        var wanted = min(expected, limit) + 1
        while true {
            let part = try filled(wanted) { buffer, _ throws(SystemError) in try read(into: buffer) }
            if bytes.isEmpty { bytes = part } else { bytes += part }
            guard bytes.count <= limit else {
                throw SystemError(
                    .tooLarge, operation: "read", path: path, remedy: "At most \(limit) bytes are accepted here")
            }
            if part.count < wanted { return bytes }
            wanted = min(1 << 20, limit - bytes.count + 1)
        }
    }

    /// Calls `next` until `count` bytes have been read or `next` returns 0.
    private func filled(
        _ count: Int, next: (UnsafeMutableRawBufferPointer, Int) throws(SystemError) -> Int
    ) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < count {
                do throws(SystemError) {
                    let rest = UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[done..<count])
                    let got = try next(rest, done)
                    if got == 0 { return }
                    done += got
                } catch {
                    failure = error
                    return
                }
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
