import CSQLite
import Glibc

/// An operation that SQLite, or this wrapper, refused.
///
/// `message` says what failed, in which file, and what to do. `sql` is the statement's text with
/// its placeholders: bound values never appear in an error.
package struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    package let code: Code
    /// SQLite's extended result code (https://sqlite.org/rescode.html); 0 if the wrapper itself
    /// refused.
    package let extendedCode: Int32
    package let message: String
    package let sql: String?

    package init(code: Code, extendedCode: Int32 = 0, message: String, sql: String? = nil) {
        self.code = code
        self.extendedCode = extendedCode
        self.message = message
        self.sql = sql
    }

    package var description: String { sql.map { "\(message) [\($0)]" } ?? message }

    /// The kinds of failure that a caller can act on.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case full, corrupt, damagedRow, busy, readOnly, constraint, cannotOpen, inputOutput, interrupted,
                newerSchema
            case tooBig, misuse, other
        }

        private let kind: Kind

        /// The disk or the quota is full. The transaction was rolled back.
        package static let full = Code(kind: .full)
        /// The file is damaged, truncated, or not a database.
        package static let corrupt = Code(kind: .corrupt)
        /// The checksum of a row does not match its values. Other rows can be used.
        package static let damagedRow = Code(kind: .damagedRow)
        /// Another connection held the lock for longer than the busy timeout. Trying again may
        /// succeed.
        package static let busy = Code(kind: .busy)
        /// The file, its directory, or this connection may not be written.
        package static let readOnly = Code(kind: .readOnly)
        /// A UNIQUE, CHECK, NOT NULL, or FOREIGN KEY rule of the schema refused the change.
        package static let constraint = Code(kind: .constraint)
        /// The file or its directory does not exist or is not accessible.
        package static let cannotOpen = Code(kind: .cannotOpen)
        /// Reading, writing, or syncing the file failed.
        package static let inputOutput = Code(kind: .inputOutput)
        /// The statement was interrupted.
        package static let interrupted = Code(kind: .interrupted)
        /// The file was written by a newer version of this program.
        package static let newerSchema = Code(kind: .newerSchema)
        /// A string, blob, or row exceeds SQLite's limits.
        package static let tooBig = Code(kind: .tooBig)
        /// The wrapper was used against its contract, for instance after `close()`.
        package static let misuse = Code(kind: .misuse)
        /// Anything else, most often an error in the SQL text.
        package static let other = Code(kind: .other)

        /// Whether the same call may succeed later without a change.
        package var isTransient: Bool { self == .busy }

        package var description: String { kind.rawValue }

        init(resultCode: Int32) {
            switch resultCode & 0xFF {
            case SQLITE_FULL: self = .full
            // An index that contradicts its table can be rebuilt from the table.
            case SQLITE_CORRUPT where resultCode == csqlite_corrupt_index: self = .damagedRow
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: self = .corrupt
            case SQLITE_BUSY, SQLITE_LOCKED: self = .busy
            case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: self = .readOnly
            case SQLITE_CONSTRAINT: self = .constraint
            case SQLITE_CANTOPEN: self = .cannotOpen
            case SQLITE_IOERR: self = .inputOutput
            case SQLITE_INTERRUPT, SQLITE_ABORT: self = .interrupted
            case SQLITE_TOOBIG, SQLITE_NOMEM: self = .tooBig
            case SQLITE_MISUSE: self = .misuse
            default: self = .other
            }
        }

        private init(kind: Kind) { self.kind = kind }

        var remedy: String? {
            switch kind {
            case .full: "Free some disk space; nothing of the interrupted change was kept."
            case .corrupt: "Stop the program, keep a copy of the file, and restore it from a backup."
            case .busy: "Another process uses the database; try again when it has finished."
            case .readOnly: "Make the file and its directory writable by this user."
            case .cannotOpen: "Check that its directory exists and that this user may use it."
            case .inputOutput: "Check the disk and the kernel's log."
            case .newerSchema: "Use the newer version of the program, or restore the copy made before its upgrade."
            default: nil
            }
        }
    }
}

extension SQLiteError.Code {
    /// Creates the code of a failure, and recognizes a full disk that SQLite reports as another
    /// error.
    ///
    /// - Parameters:
    ///   - systemError: the `errno` of the failed call; 0 if unknown.
    ///   - hasSpace: whether the file's disk has space for another page and inode.
    init(resultCode: Int32, systemError: Int32, hasSpace: @autoclosure () -> Bool) {
        let code = SQLiteError.Code(resultCode: resultCode)
        guard code == .inputOutput || code == .cannotOpen else {
            self = code
            return
        }
        switch systemError {
        case ENOSPC, EDQUOT: self = .full
        // SQLite does not report why it could not enlarge the WAL's shared-memory file.
        case 0 where !hasSpace(): self = .full
        default: self = resultCode == csqlite_shm_size && !hasSpace() ? .full : code
        }
    }
}

extension SQLiteError {
    /// Whether a file in the directory of `path` can be enlarged.
    private static func hasSpace(beside path: String) -> Bool {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return true }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow || bytes >= 64 << 10
    }

    /// Creates an error from a result code and the connection's message.
    init(resultCode: Int32, connection: OpaquePointer?, path: String, doing action: String, sql: String? = nil) {
        let extended = connection.map { sqlite3_extended_errcode($0) } ?? resultCode
        // The connection's code describes its latest call. It is used only if that call is the one
        // that failed.
        let best = extended & 0xFF == resultCode & 0xFF ? extended : resultCode
        // If the disk is full for a side file, SQLite reports an I/O error.
        let number = connection.map { sqlite3_system_errno($0) } ?? 0
        let code = Code(resultCode: best, systemError: number, hasSpace: Self.hasSpace(beside: path))
        let words: String
        if code == .full, resultCode & 0xFF != SQLITE_FULL {
            words = "the disk is full"
        } else if let connection, best == extended, let text = sqlite3_errmsg(connection) {
            words = String(cString: text)
        } else {
            words = String(cString: sqlite3_errstr(resultCode))
        }
        let remedy = code.remedy.map { " \($0)" } ?? ""
        self.init(
            code: code, extendedCode: best, message: "Cannot \(action) the database \(path): \(words).\(remedy)",
            sql: sql)
    }
}
