import CLinux
import Glibc

/// File operations by path, following symbolic links, for files and directories that only Ferry
/// writes to.
///
/// In a tree that other programs write to, use `Directory`.
package enum FileSystem {
    /// Reads a file. Throws `.tooLarge` if it has more than `limit` bytes.
    package static func read(_ path: String, limit: Int = 64 << 20) throws(SystemError) -> [UInt8] {
        try FileDescriptor(path: path, .read).readAll(limit: limit)
    }

    /// Reads a file, as `read` does; nil if the file does not exist.
    package static func readIfPresent(_ path: String, limit: Int = 64 << 20) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            return try read(path, limit: limit)
        } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    /// Replaces a file's content atomically and durably; see `Directory.replace`.
    package static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o666, exclusive: Bool = false
    ) throws(SystemError) {
        let (parent, name) = split(path)
        try Directory(path: parent).replace(name, with: bytes, mode: mode, exclusive: exclusive)
    }

    package static func status(_ path: String) throws(SystemError) -> FileStatus {
        try checkPath(path, operation: "examine")
        var status = stat()
        guard stat(path, &status) == 0 else { throw .last("examine", path) }
        return FileStatus(status)
    }

    package static func exists(_ path: String) -> Bool {
        !path.utf8.contains(0) && access(path, F_OK) == 0
    }

    /// Creates a directory and its missing ancestors with `mode`, to which the umask is applied.
    /// Does nothing if it exists.
    package static func makeDirectories(_ path: String, mode: UInt32 = 0o777) throws(SystemError) {
        try checkPath(path, operation: "make the directory")
        if mkdir(path, mode_t(mode)) == 0 { return }
        switch errno {
        case EEXIST:
            guard try status(path).kind == .directory else {
                throw SystemError(errno: ENOTDIR, operation: "make the directory", path: path)
            }
        case ENOENT:
            let parent = split(path).parent
            guard parent != path, parent != "." else { throw .last("make the directory", path) }
            try makeDirectories(parent, mode: mode)
            guard mkdir(path, mode_t(mode)) == 0 || errno == EEXIST else { throw .last("make the directory", path) }
        default:
            throw .last("make the directory", path)
        }
    }

    /// Removes a file or an empty directory. Returns false if it does not exist.
    @discardableResult
    package static func remove(_ path: String) throws(SystemError) -> Bool {
        try checkPath(path, operation: "remove")
        if Glibc.remove(path) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last("remove", path)
    }

    /// Removes a directory and its content without following symbolic links. Does nothing if it
    /// does not exist.
    package static func removeTree(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            let directory = try Directory(FileDescriptor(path: path, [.read, .directory, .noFollow]))
            try directory.removeContents()
        } catch {
            if error.code == .notFound { return }
            throw error
        }
        try remove(path)
    }

    package static func rename(_ path: String, to target: String) throws(SystemError) {
        try checkPath(path, operation: "rename")
        try checkPath(target, operation: "rename")
        guard Glibc.rename(path, target) == 0 else { throw .last("rename", path) }
    }

    /// Returns the number of bytes that an unprivileged user can still store on the file system of
    /// `path`.
    package static func freeSpace(_ path: String) throws(SystemError) -> Int64 { try space(path).available }

    /// Returns the number of bytes that an unprivileged user can still store on the file system of
    /// `path`, and the size of that file system.
    package static func space(_ path: String) throws(SystemError) -> (available: Int64, total: Int64) {
        try checkPath(path, operation: "examine the file system of")
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw .last("examine the file system of", path) }
        func bytes(_ blocks: UInt) -> Int64 {
            let (bytes, overflow) = UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            return overflow ? .max : Int64(clamping: bytes)
        }
        return (bytes(status.f_bavail), bytes(status.f_blocks))
    }

    /// Splits a path into the part before the last slash and the name after it: `("/a", "b")` for
    /// "/a/b", `(".", "b")` for "b".
    package static func split(_ path: String) -> (parent: String, name: String) {
        var path = path[...]
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", String(path)) }
        let parent = path[..<slash]
        return (parent.isEmpty ? "/" : String(parent), String(path[path.utf8.index(after: slash)...]))
    }
}

extension Directory {
    /// Removes everything in the directory. Symbolic links are removed, not their targets.
    package func removeContents() throws(SystemError) {
        for entry in try entries() {
            guard entry.invalidBytes == nil else {
                try removeInvalid(entry)
                continue
            }
            let kind = entry.kind == .unknown ? try status(entry.name).kind : entry.kind
            if kind == .directory {
                try directory(entry.name).removeContents()
                try removeDirectory(entry.name)
            } else {
                try remove(entry.name)
            }
        }
    }

    /// Removes a name whose bytes are not UTF-8, which a Swift string cannot pass to the kernel.
    private func removeInvalid(_ entry: DirectoryEntry) throws(SystemError) {
        var name = (entry.invalidBytes ?? []).map { CChar(bitPattern: $0) }
        name.append(0)
        if unlinkat(descriptor.rawValue, name, 0) == 0 { return }
        if errno == EISDIR, unlinkat(descriptor.rawValue, name, AT_REMOVEDIR) == 0 { return }
        throw .last("remove", path + "/" + entry.name)
    }
}
