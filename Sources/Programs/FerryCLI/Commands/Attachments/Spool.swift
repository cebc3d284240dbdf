import Glibc
import SystemIO

/// A file with the contents of standard input, which the daemon can read.
///
/// The file has no name while it grows, so nothing is left of it if the program ends. Once it has a
/// name, a lock shows that it is in use. A named file without a lock was left by a killed program,
/// and the next one removes it.
struct Spool {
    let path: String
    /// The descriptor, which stays open and locked until the program ends.
    private let descriptor: Int32

    private static let prefix = "ferry-attach-"
    /// O_TMPFILE, whose macro Swift cannot import.
    private static let unnamed = 0o20_000_000 | O_DIRECTORY

    static func standardInput() throws -> Spool {
        let directory = ProcessEnvironment["XDG_RUNTIME_DIR"] ?? ProcessEnvironment["TMPDIR"] ?? "/tmp"
        removeOrphans(in: directory)
        let descriptor = open(directory, unnamed | O_RDWR | O_CLOEXEC, 0o600)
        // Not every file system supports files without names.
        let spool = descriptor >= 0 ? Spool(path: "", descriptor: descriptor) : try named(in: directory)
        if !spool.path.isEmpty { Interruption.removes(spool.path) }
        do {
            try spool.copyStandardInput(directory)
            guard spool.path.isEmpty else { return spool }
            _ = flock(descriptor, LOCK_EX)
            let path = "\(directory)/\(prefix)\(getpid())-\(UInt64.random(in: 0 ... .max))"
            Interruption.removes(path)
            guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
                throw failure(path)
            }
            return Spool(path: path, descriptor: descriptor)
        } catch {
            spool.remove()
            throw error
        }
    }

    /// Creates a file that has a name from the start.
    private static func named(in directory: String) throws -> Spool {
        while true {
            var template = Array("\(directory)/\(prefix)XXXXXX".utf8CString)
            let descriptor = mkstemp(&template)
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard descriptor >= 0 else { throw failure(directory) }
            _ = flock(descriptor, LOCK_EX)
            // Another program may have taken it for an orphan and removed it before it was locked.
            var status = stat()
            if fstat(descriptor, &status) == 0, status.st_nlink > 0 { return Spool(path: path, descriptor: descriptor) }
            close(descriptor)
        }
    }

    private func copyStandardInput(_ directory: String) throws {
        noteStandardInput()
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let step = buffer.withUnsafeBytes {
                    write(descriptor, $0.baseAddress.map { $0 + written }, count - written)
                }
                if step < 0, errno == EINTR { continue }
                guard step > 0 else { throw Self.failure(directory) }
                written += step
            }
        }
    }

    func remove() {
        if !path.isEmpty { unlink(path) }
        Interruption.removesNothing()
    }

    /// Removes the files that killed programs have left.
    private static func removeOrphans(in directory: String) {
        guard let entries = try? Directory(path: directory).entries() else { return }
        for entry in entries where entry.name.hasPrefix(prefix) {
            let path = "\(directory)/\(entry.name)"
            let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            unlink(path)
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure("\(path): \(String(cString: strerror(errno))).")
    }
}
