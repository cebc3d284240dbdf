import CLinux
import Glibc

extension FileDescriptor {
    /// Creates an anonymous file in memory, which disappears with its last descriptor:
    /// memfd_create(2).
    package init(inMemory name: String) throws(SystemError) {
        let raw = ferry_memory_file(name)
        guard raw >= 0 else { throw .last("make a file in memory", name) }
        self.init(owning: raw, path: name)
    }

    /// Returns the number of bytes that this user can still store on the file's file system.
    package func freeBytes() throws(SystemError) -> Int64 {
        var status = statvfs()
        guard retry({ fstatvfs(rawValue, &status) }) == 0 else { throw .last("examine the file system of", path) }
        return Int64(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }

    /// Opens the same file again, with an independent position.
    package func reopened(_ options: OpenOptions) throws(SystemError) -> FileDescriptor {
        let raw = retry { ferry_open("/proc/self/fd/\(rawValue)", options.rawValue | O_CLOEXEC, 0) }
        guard raw >= 0 else { throw .last("open again", path) }
        return FileDescriptor(owning: raw, path: path)
    }
}
