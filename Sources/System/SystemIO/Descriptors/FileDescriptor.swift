import CLinux
import Glibc

/// An open file that is closed when the value's lifetime ends.
///
/// Every call is repeated after EINTR, and its errors name `path`.
package struct FileDescriptor: ~Copyable, Sendable {
    /// Raises the process's limit of open descriptors as far as the hard limit allows, to at most
    /// 65,536: RLIMIT_NOFILE of getrlimit(2).
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    package private(set) var rawValue: Int32
    /// The path, or a description of what the descriptor refers to. Used only in messages.
    package let path: String

    /// Creates a value that owns a descriptor, which no other code may close.
    package init(owning rawValue: Int32, path: String) {
        self.rawValue = rawValue
        self.path = path
    }

    deinit {
        if rawValue >= 0 { _ = Glibc.close(rawValue) }
    }

    /// Opens a path as open(2) does, following symbolic links. The descriptor is close-on-exec.
    ///
    /// In a tree that other users or programs write to, open files relative to a `Directory`
    /// instead.
    package init(path: String, _ options: OpenOptions, mode: UInt32 = 0o666) throws(SystemError) {
        try checkPath(path, operation: "open")
        let raw = retry { ferry_open(path, options.rawValue | O_CLOEXEC, mode_t(mode)) }
        guard raw >= 0 else { throw .last("open", path) }
        self.init(owning: raw, path: path)
    }

    /// Gives up ownership and returns the descriptor, which the caller must close.
    package consuming func release() -> Int32 {
        let raw = rawValue
        rawValue = -1
        return raw
    }

    /// Closes the file and throws the error that close(2) reports. On network file systems and with
    /// quotas, that error can mean that an earlier write was lost.
    package consuming func close() throws(SystemError) {
        let (raw, path) = (rawValue, path)
        rawValue = -1
        // According to close(2), the descriptor is released even after EINTR, so the call must not
        // be repeated.
        if Glibc.close(raw) != 0, errno != EINTR { throw .last("close", path) }
    }

    /// Returns a second, independent owner of the same open file.
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

    /// Waits until the content and all metadata are on disk: fsync(2).
    package func synchronize() throws(SystemError) {
        guard retry({ fsync(rawValue) }) == 0 else { throw .last("write to disk", path) }
    }

    /// Waits until the content, and the metadata needed to read it back, are on disk: fdatasync(2).
    package func synchronizeContent() throws(SystemError) {
        guard retry({ fdatasync(rawValue) }) == 0 else { throw .last("write to disk", path) }
    }

    /// Waits until all data of the file system that holds this file is on disk: syncfs(2). One call
    /// is much cheaper than calling `synchronize` for many files.
    package func synchronizeFileSystem() throws(SystemError) {
        guard ferry_sync_file_system(rawValue) == 0 else { throw .last("write the file system to disk of", path) }
    }

    package func truncate(to size: Int64) throws(SystemError) {
        guard retry({ ftruncate(rawValue, off_t(size)) }) == 0 else { throw .last("truncate", path) }
    }

    package func changeMode(_ mode: UInt32) throws(SystemError) {
        guard fchmod(rawValue, mode_t(mode & 0o7777)) == 0 else { throw .last("change the mode of", path) }
    }

    /// Sets the modification time and leaves the access time as it is: futimens(2).
    package func setModified(_ time: FileTime) throws(SystemError) {
        guard ferry_set_modified(rawValue, Int(time.seconds), Int(time.nanoseconds)) == 0 else {
            throw .last("set the time of", path)
        }
    }

    /// Adds execute permission for everyone who has read permission.
    package func makeExecutable() throws(SystemError) { try changeMode(status().executableMode) }

    package func setNonBlocking(_ on: Bool) throws(SystemError) {
        guard ferry_set_nonblocking(rawValue, on ? 1 : 0) == 0 else { throw .last("configure", path) }
    }

    /// Makes this empty file share the blocks of `source` (reflink). Returns false if the file
    /// system does not support it.
    package func clone(from source: borrowing FileDescriptor) throws(SystemError) -> Bool {
        if ferry_clone(rawValue, source.rawValue) == 0 { return true }
        switch errno {
        case EOPNOTSUPP, EXDEV, EINVAL, ENOTTY, ENOSYS, EBADF, EPERM, ETXTBSY: return false
        default: throw .last("clone to", path)
        }
    }
}

/// Repeats a system call while a signal interrupts it.
func retry<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

/// Throws if a path is empty or contains NUL, at which C would silently cut it.
func checkPath(_ path: String, operation: String) throws(SystemError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
        throw SystemError(.invalidName, operation: operation, path: escapedName(path.utf8))
    }
}
