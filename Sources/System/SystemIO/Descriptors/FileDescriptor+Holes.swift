import CLinux
import Glibc

extension FileDescriptor {
    /// Deallocates the blocks of a range, which reads as zeros from then on. The file's size does
    /// not change.
    ///
    /// Returns false if the file system does not support holes.
    package func punchHole(at offset: Int64, count: Int64) throws(SystemError) -> Bool {
        if retry({ ferry_punch(rawValue, offset, count) }) == 0 { return true }
        if errno == EOPNOTSUPP || errno == ENOSYS { return false }
        throw .last("give back blocks of", path)
    }

    /// Whether any byte at or after `offset` is stored rather than part of a hole. Moves the file's
    /// position.
    package func hasData(from offset: Int64) throws(SystemError) -> Bool {
        if ferry_next_data(rawValue, offset) >= 0 { return true }
        if errno == ENXIO { return false }
        throw .last("examine", path)
    }
}
