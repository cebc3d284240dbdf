import Glibc

extension SystemError {
    /// Returns the error that errno(3) holds directly after a failed call.
    static func last(_ operation: String, _ path: String?) -> SystemError {
        SystemError(errno: Glibc.errno, operation: operation, path: path)
    }

    /// Creates an error from a number of errno(3), with the matching code and remedy.
    package init(errno: Int32, operation: String, path: String? = nil) {
        self.init(
            SystemError.code(of: errno), errno: errno, operation: operation, path: path,
            remedy: SystemError.remedy(for: errno))
    }

    static func text(of errno: Int32) -> String {
        guard let text = strerror(errno) else { return "error \(errno)" }
        return String(cString: text)
    }

    /// Returns the code of an error number, following errno(3), and openat2(2) for EXDEV and ELOOP.
    private static func code(of errno: Int32) -> Code {
        switch errno {
        case ENOENT: .notFound
        case EEXIST: .exists
        case EACCES, EPERM: .notPermitted
        case ENOSPC, EDQUOT: .noSpace
        case EROFS: .readOnly
        case EMFILE, ENFILE: .tooManyOpenFiles
        case EISDIR: .isDirectory
        case ENOTDIR: .notDirectory
        case ENOTEMPTY: .notEmpty
        case ENAMETOOLONG, EILSEQ: .invalidName
        case ELOOP, EXDEV: .leavesRoot
        case ENOTSUP, ENOSYS, ENOTTY: .unsupported
        case EFBIG, E2BIG, EOVERFLOW: .tooLarge
        case EBUSY, EAGAIN, ETXTBSY: .busy
        case EIO, ESTALE: .damagedMedium
        case EADDRINUSE: .addressInUse
        case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH: .unreachable
        case EPIPE, ECONNRESET, ENOTCONN, EBADF: .closed
        case ETIMEDOUT: .timedOut
        default: .other
        }
    }

    /// Whether the two paths of a rename are on different file systems.
    package var isOtherFileSystem: Bool { errno == EXDEV }

    private static func remedy(for errno: Int32) -> String? {
        switch errno {
        case ENOSPC: "Free space on this file system; work continues automatically when there is some"
        case EDQUOT: "The disk quota of this user is used up; remove files or have it raised"
        case EACCES, EPERM: "Check owner and mode of the path, and the sandbox of the unit if a service does this"
        case EROFS: "The file system is mounted read-only; look for errors in `dmesg`, then remount it writable"
        case EMFILE: "Raise the limit of open files: `LimitNOFILE=` in the unit, or `ulimit -n`"
        case ENFILE: "The whole machine is out of open files: raise it with `sysctl fs.file-max=2000000`"
        case EIO: "The medium reported an error; look in `dmesg` and check the disk"
        case ESTALE: "The network file system lost this file; mount it again"
        case EBUSY:
            "Another program holds it, or it is a mount point, which cannot be renamed or removed: unmount it first"
        case ELOOP, EXDEV: "A symbolic link or `..` in the path leads elsewhere; links are not followed here"
        case ENOSYS: "The kernel lacks this call; Linux 5.6 or later is needed"
        default: nil
        }
    }
}
