import CLinux
import Glibc

/// An open file that closes itself. Every call retries EINTR and names `path` in its errors.
package struct FileDescriptor: ~Copyable, Sendable {
    /// Lets the process open as many descriptors as it may ask for, up to 65,536; RLIMIT_NOFILE of getrlimit(2).
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    package private(set) var rawValue: Int32
    /// For messages only: the path, or what else is behind the number.
    package let path: String

    /// Takes over a number that nobody else will close.
    package init(owning rawValue: Int32, path: String) {
        self.rawValue = rawValue
        self.path = path
    }

    deinit {
        if rawValue >= 0 { _ = Glibc.close(rawValue) }
    }

    /// Opens by path as open(2) does, links followed; always close-on-exec. For work in a tree that others write
    /// to, open beneath a `Directory` instead.
    package init(path: String, _ options: OpenOptions, mode: UInt32 = 0o666) throws(SystemError) {
        try checkPath(path, operation: "open")
        let raw = retry { ferry_open(path, options.rawValue | O_CLOEXEC, mode_t(mode)) }
        guard raw >= 0 else { throw .last("open", path) }
        self.init(owning: raw, path: path)
    }

    /// Gives up ownership: the caller closes.
    package consuming func release() -> Int32 {
        let raw = rawValue
        rawValue = -1
        return raw
    }

    /// Closes and reports what close(2) says, which on network file systems and quotas may be that a write was lost.
    package consuming func close() throws(SystemError) {
        let (raw, path) = (rawValue, path)
        rawValue = -1
        // close(2): the number is gone even after EINTR, so never retry.
        if Glibc.close(raw) != 0, errno != EINTR { throw .last("close", path) }
    }

    /// A second, independent owner of the same open file.
    package func duplicate() throws(SystemError) -> FileDescriptor {
        let raw = ferry_duplicate(rawValue)
        guard raw >= 0 else { throw .last("duplicate", path) }
        return FileDescriptor(owning: raw, path: path)
    }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        guard fstat(rawValue, &status) == 0 else { throw .last("examine", path) }
        return FileStatus(status)
    }

    /// Waits until content and metadata are on the disk, fsync(2).
    package func synchronize() throws(SystemError) {
        guard retry({ fsync(rawValue) }) == 0 else { throw .last("write to disk", path) }
    }

    /// Waits until content is on the disk, and of the metadata what reading it back needs, fdatasync(2).
    package func synchronizeContent() throws(SystemError) {
        guard retry({ fdatasync(rawValue) }) == 0 else { throw .last("write to disk", path) }
    }

    /// Waits until everything of the file system that holds this file is on the disk, syncfs(2). One call is much
    /// cheaper than many of `synchronize`.
    package func synchronizeFileSystem() throws(SystemError) {
        guard ferry_sync_file_system(rawValue) == 0 else { throw .last("write the file system to disk of", path) }
    }

    package func truncate(to size: Int64) throws(SystemError) {
        guard retry({ ftruncate(rawValue, off_t(size)) }) == 0 else { throw .last("truncate", path) }
    }

    package func changeMode(_ mode: UInt32) throws(SystemError) {
        guard fchmod(rawValue, mode_t(mode & 0o7777)) == 0 else { throw .last("change the mode of", path) }
    }

    /// Sets the time of the last change of the content, futimens(2); that of the last reading stays.
    package func setModified(_ time: FileTime) throws(SystemError) {
        guard ferry_set_modified(rawValue, Int(time.seconds), Int(time.nanoseconds)) == 0 else {
            throw .last("set the time of", path)
        }
    }

    /// Lets everybody run it who may read it.
    package func makeExecutable() throws(SystemError) { try changeMode(status().executableMode) }

    package func setNonBlocking(_ on: Bool) throws(SystemError) {
        guard ferry_set_nonblocking(rawValue, on ? 1 : 0) == 0 else { throw .last("configure", path) }
    }

    /// Makes this empty file share the blocks of `source` (reflink) where the file system can; false where it cannot.
    package func clone(from source: borrowing FileDescriptor) throws(SystemError) -> Bool {
        if ferry_clone(rawValue, source.rawValue) == 0 { return true }
        switch errno {
        case EOPNOTSUPP, EXDEV, EINVAL, ENOTTY, ENOSYS, EBADF, EPERM, ETXTBSY: return false
        default: throw .last("clone to", path)
        }
    }
}

/// Repeats a call that a signal interrupted.
func retry<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

/// A NUL in a Swift string would silently cut the path that C sees.
func checkPath(_ path: String, operation: String) throws(SystemError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
        throw SystemError(.invalidName, operation: operation, path: escapedName(path.utf8))
    }
}
