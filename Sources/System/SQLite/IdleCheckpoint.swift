import SystemIO

/// Moves the contents of idle databases' write-ahead logs into the databases.
///
/// SQLite does that after a number of pages only. On a server with few users the log of the accounts
/// would hold everything since the start, and a copy of the database without its log would lack it.
package struct IdleCheckpoint: Sendable {
    /// The size and time of a log. The log is idle if both stay the same.
    struct LogState: Hashable, Sendable {
        var size: Int64
        var modified: FileTime
    }

    private var seen: [String: LogState] = [:]
    private var emptied: [String: LogState] = [:]

    package init() {}

    /// Whether to move a log now: it is not empty, has not changed since the last look, and has not been
    /// moved since then.
    mutating func isDue(_ path: String, _ state: LogState?) -> Bool {
        defer { seen[path] = state }
        guard let state, state.size > 0 else { return false }
        return seen[path] == state && emptied[path] != state
    }

    /// Notes what a log is like after it was moved.
    mutating func moved(_ path: String, _ state: LogState?) { emptied[path] = state }

    /// Looks at the databases in the files at `paths`; two looks find which logs are idle.
    ///
    /// - Throws: the last error of those that failed, after all have been tried.
    package mutating func run(on paths: [String]) throws {
        var failure: (any Error)?
        for path in paths {
            guard isDue(path, Self.state(ofLogOf: path)) else { continue }
            do {
                let database = try SQLiteDatabase(path: path)
                defer { database.close() }
                try database.checkpoint()
                moved(path, Self.state(ofLogOf: path))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private static func state(ofLogOf path: String) -> LogState? {
        guard let status = try? FileSystem.status(path + "-wal") else { return nil }
        return LogState(size: status.size, modified: status.modified)
    }
}
