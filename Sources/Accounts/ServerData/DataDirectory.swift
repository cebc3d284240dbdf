package import Glibc
package import SystemIO

/// The directory with all data of a server, of mode 0700 and for one server at a time.
///
/// `documents/` holds the databases, `objects/` the buckets, `accounts/` the users, their sessions
/// and the keys that sign their tokens, and `lock` the id of the server's process.
package final class DataDirectory: Sendable {
    package let path: String
    private let lock: FileLock

    package var documents: String { "\(path)/documents" }
    package var objects: String { "\(path)/objects" }
    package var accounts: String { "\(path)/accounts" }

    /// Creates the directory if it is absent, and locks it for as long as the value exists.
    ///
    /// - Parameter isStandby: Whether the directory may be the copy of a standby.
    /// - Throws: `ServerError` with `.inUse` if a server uses it, or it is a copy.
    package init(path: String, isStandby: Bool = false) throws {
        self.path = path
        if !isStandby { try Self.refuseStandby(path) }
        try FileSystem.makeDirectories(path, mode: 0o700)
        // An existing directory may be accessible to others.
        guard chmod(path, 0o700) == 0 else {
            throw ServerError(
                .configuration, "\(path) belongs to another user. Run the server as that user, or use another --data."
            )
        }
        guard let lock = try FileLock.acquire("\(path)/lock") else {
            let holder = Self.holder(of: path).map { " (process \($0))" } ?? ""
            throw ServerError(
                .inUse, "Another ferry-server\(holder) uses \(path). Stop it, or choose another directory with --data.")
        }
        self.lock = lock
        try lock.write(note: "\(getpid())\n")
        try FileSystem.makeDirectories(accounts, mode: 0o700)
    }

    /// Throws `ServerError` if a directory is the copy of a standby, which only its server changes.
    package static func refuseStandby(_ path: String) throws {
        guard StandbyState.exists(in: path) else { return }
        throw ServerError(
            .inUse,
            "\(path) is the copy of a standby. To serve from it, run 'ferry-server promote --data \(path)' first.")
    }

    /// Writes where the server listens into the lock, for `ferry-server health`.
    package func note(http: ListenAddress, isSecure: Bool) throws {
        try lock.write(note: "\(getpid()) \(http) \(isSecure ? "tls" : "plain")\n")
    }

    /// The HTTP address of the server that serves from a directory, and whether with TLS; nil where none does, or where
    /// it is not ready.
    package static func listening(of path: String) -> (address: ListenAddress, isSecure: Bool)? {
        guard server(of: path) != nil, let note = FileLock.note(of: "\(path)/lock") else { return nil }
        let words = note.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let address = ListenAddress(String(words[1])) else { return nil }
        return (address, words[2] == "tls")
    }

    /// The process that serves from a directory; nil where none does.
    package static func server(of path: String) -> pid_t? {
        guard FileSystem.exists("\(path)/lock") else { return nil }
        if (try? FileLock.acquire("\(path)/lock")) != nil { return nil }
        return holder(of: path)
    }

    private static func holder(of path: String) -> pid_t? {
        FileLock.note(of: "\(path)/lock").flatMap { pid_t($0.split(whereSeparator: \.isWhitespace).first ?? "") }
    }
}
