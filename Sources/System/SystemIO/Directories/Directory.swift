import CLinux
import Glibc

/// An open directory. Relative paths given to it cannot leave it.
///
/// The kernel refuses `..`, absolute paths and symbolic links in any component, even if another
/// process replaces a component at the same moment (openat2 with RESOLVE_BENEATH and
/// RESOLVE_NO_SYMLINKS; `openByStepping` does the same in sandboxes that block openat2).
package final class Directory: Sendable {
    package let descriptor: FileDescriptor

    /// The path by which it was opened, for messages. The directory may have moved since.
    package var path: String { descriptor.path }

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Opens a directory by path, following symbolic links. Later paths are relative to it.
    package convenience init(path: String) throws(SystemError) {
        self.init(try FileDescriptor(path: path, [.read, .directory]))
    }

    /// Opens the file at `relative`.
    ///
    /// The file can be of any kind: check `status`, and use `.nonBlocking` where another user could
    /// have created a FIFO.
    package func open(
        _ relative: String, _ options: OpenOptions, mode: UInt32 = 0o666
    ) throws(SystemError) -> FileDescriptor {
        let path = try full(relative, operation: "open")
        let mode = options.contains(.create) ? mode_t(mode) : 0
        var attempts = 0
        while true {
            let raw = retry {
                ferry_open_beneath(descriptor.rawValue, relative, options.rawValue | O_CLOEXEC, mode)
            }
            if raw >= 0 { return FileDescriptor(owning: raw, path: path) }
            if errno == ENOSYS {
                let stepped = openByStepping(relative, flags: options.rawValue | O_CLOEXEC, mode: mode)
                guard stepped >= 0 else { throw .last("open", path) }
                return FileDescriptor(owning: stepped, path: path)
            }
            attempts += 1
            // According to openat2(2), EAGAIN means that a concurrent rename left the kernel unsure
            // whether the path stays beneath.
            guard errno == EAGAIN, attempts < 64 else { throw .last("open", path) }
        }
    }

    package func directory(_ relative: String) throws(SystemError) -> Directory {
        Directory(try open(relative, [.read, .directory]))
    }

    /// Returns the attributes of the name itself: a symbolic link is reported as a link.
    package func status(_ relative: String) throws(SystemError) -> FileStatus {
        try at(relative, operation: "examine") { parent, name in
            var status = stat()
            guard fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
            return FileStatus(status)
        }
    }

    /// Returns the attributes of a name, as `status` does; nil if the name does not exist.
    package func statusIfPresent(_ relative: String) throws(SystemError) -> FileStatus? {
        do throws(SystemError) {
            return try status(relative)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    /// Returns the attributes of a name from this directory's listing, without checking the name;
    /// nil if it no longer exists.
    package func statusIfPresent(listed name: String) throws(SystemError) -> FileStatus? {
        var status = stat()
        if fstatat(descriptor.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(status) }
        if errno == ENOENT { return nil }
        throw .last("examine", path + "/" + name)
    }

    /// Reads a regular file completely. Throws `.unsupported` for any other kind of file, and
    /// `.tooLarge` for more than `limit` bytes.
    package func read(_ relative: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = try open(relative, [.read, .nonBlocking])
        guard try file.status().kind == .file else {
            throw SystemError(.unsupported, operation: "read", path: file.path, remedy: "It is not a regular file")
        }
        return try file.readAll(limit: limit)
    }

    /// Waits until the names in this directory are on disk.
    package func synchronize() throws(SystemError) {
        try descriptor.synchronize()
    }

    /// Returns the id of the directory's file system. Together with device and inode it
    /// distinguishes this directory from another one at the same path.
    package func fileSystemID() throws(SystemError) -> UInt64 {
        var identity: UInt64 = 0
        guard ferry_file_system_id(descriptor.rawValue, &identity) == 0 else { throw .last("examine", path) }
        return identity
    }

    func full(_ relative: String, operation: String) throws(SystemError) -> String {
        let path = self.path + "/" + relative
        guard !relative.isEmpty, !relative.utf8.contains(0), !relative.hasPrefix("/") else {
            throw SystemError(.invalidName, operation: operation, path: escapedName(path.utf8))
        }
        return path
    }

    /// Calls `body` with the directory that holds the last component of `relative` and with that
    /// component.
    ///
    /// For system calls that have no RESOLVE_BENEATH. A nil result means that errno holds an error.
    func at<Result>(
        _ relative: String, operation: String, _ body: (Int32, String) -> Result?
    ) throws(SystemError) -> Result {
        let path = try full(relative, operation: operation)
        guard let slash = relative.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            try checkName(relative, operation: operation)
            guard let result = body(descriptor.rawValue, relative) else { throw .last(operation, path) }
            return result
        }
        let name = String(relative[relative.utf8.index(after: slash)...])
        try checkName(name, operation: operation)
        let parent = try open(String(relative[..<slash]), [.read, .directory])
        guard let result = body(parent.rawValue, name) else { throw .last(operation, path) }
        return result
    }

    private func checkName(_ name: String, operation: String) throws(SystemError) {
        guard !name.isEmpty, name != ".", name != ".." else {
            throw SystemError(.invalidName, operation: operation, path: path + "/" + name)
        }
    }
}
