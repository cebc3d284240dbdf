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

    /// Returns where the first bytes at or after `offset` are that are more than a hole; nil if there are none. A file
    /// system that keeps no holes reports `offset`. Moves the position.
    package func nextData(from offset: Int64) throws(SystemError) -> Int64? {
        let found = ferry_next_data(rawValue, offset)
        if found >= 0 { return Int64(found) }
        if errno == ENXIO { return nil }
        if errno == EINVAL || errno == EOPNOTSUPP { return offset }
        throw .last("examine", path)
    }

    /// Whether any byte from `offset` on is more than a hole. Moves the position.
    package func hasData(from offset: Int64) throws(SystemError) -> Bool {
        if ferry_next_data(rawValue, offset) >= 0 { return true }
        if errno == ENXIO { return false }
        throw .last("examine", path)
    }
}
