import Glibc

extension FileDescriptor {
    /// Writes all bytes at the current position. After an error, an unknown number of them has been
    /// written.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.span.bytes.withUnsafeBytes { buffer throws(SystemError) in try write(buffer) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = retry { Glibc.write(rawValue, rest.baseAddress, rest.count) }
            guard count > 0 else { throw .last("write", path) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Writes all bytes at `offset` without moving the file's position. After an error, an unknown
    /// number of them has been written.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
        try bytes.span.bytes.withUnsafeBytes { buffer throws(SystemError) in try write(buffer, at: offset) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = retry { Glibc.pwrite(rawValue, rest.baseAddress, rest.count, off_t(offset + Int64(done))) }
            guard count > 0 else { throw .last("write", path) }
            done += count
        }
    }
}
