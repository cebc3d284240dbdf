import CLinux
import Glibc

extension FileDescriptor {
    /// Gives the blocks of a span back, which reads as zeros from then on; the file's size stays. False where the file system cannot.
    package func punchHole(at offset: Int64, count: Int64) throws(SystemError) -> Bool {
        if retry({ ferry_punch(rawValue, offset, count) }) == 0 { return true }
        if errno == EOPNOTSUPP || errno == ENOSYS { return false }
        throw .last("give back blocks of", path)
    }

    /// Whether any byte from `offset` on is more than a hole. Moves the position.
    package func hasData(from offset: Int64) throws(SystemError) -> Bool {
        if ferry_next_data(rawValue, offset) >= 0 { return true }
        if errno == ENXIO { return false }
        throw .last("examine", path)
    }
}
