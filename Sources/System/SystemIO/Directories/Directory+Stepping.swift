import CLinux
import Glibc

extension Directory {
    /// Opens a path component by component, as openat2 does with RESOLVE_BENEATH and
    /// RESOLVE_NO_SYMLINKS.
    ///
    /// Used where a seccomp filter blocks openat2: the filter cannot see the mode in its argument,
    /// so RestrictSUIDSGID= of systemd, and DynamicUser= with it, block the call. Refuses `..` even
    /// if the path would stay beneath the directory. Returns -1 and sets errno on failure.
    func openByStepping(_ relative: String, flags: Int32, mode: mode_t) -> Int32 {
        var components = relative.split(separator: "/", omittingEmptySubsequences: true).filter { $0 != "." }
        guard !relative.hasPrefix("/"), !components.contains("..") else { return fail(EXDEV) }
        let name = components.popLast().map(String.init) ?? "."
        // The value of O_PATH, which the C headers define only under _GNU_SOURCE.
        let passing: Int32 = 0o10000000 | O_NOFOLLOW | O_CLOEXEC
        var parent: FileDescriptor?
        for component in components {
            let current = parent?.rawValue ?? descriptor.rawValue
            let raw = retry { ferry_open_at(current, String(component), passing, 0) }
            guard raw >= 0 else { return -1 }
            let next = FileDescriptor(owning: raw, path: path)
            var status = stat()
            guard fstat(raw, &status) == 0 else { return -1 }
            if status.st_mode & S_IFMT == S_IFLNK { return fail(ELOOP) }
            parent = consume next
        }
        let last = parent?.rawValue ?? descriptor.rawValue
        let raw = retry { ferry_open_at(last, name, flags | O_NOFOLLOW, mode) }
        if raw < 0, errno == ENOTDIR {
            // For a symbolic link O_DIRECTORY fails with ENOTDIR, whereas openat2 fails with ELOOP.
            var status = stat()
            let isLink = fstatat(last, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
            return fail(isLink ? ELOOP : ENOTDIR)
        }
        return raw
    }

    private func fail(_ reason: Int32) -> Int32 {
        errno = reason
        return -1
    }
}
