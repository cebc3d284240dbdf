import DocumentClient
import DocumentModel
import ObjectStorage
import Reconciliation
import SQLite
import SystemIO
import TaskFolder
import TaskModel

/// The tables of the bridge in one transaction.
struct SyncTables {
    let database: SQLiteDatabase

    init(_ transaction: ReplicaTransaction) {
        database = transaction.database
    }

    // MARK: State

    func state(_ key: String) throws -> String? {
        try database.first("SELECT value FROM sync_state WHERE key = ?", [.text(key)]) { $0.text(0) }
    }

    func removeState(_ key: String) throws {
        try database.execute("DELETE FROM sync_state WHERE key=?", [.text(key)])
    }

    func setState(_ key: String, _ value: String) throws {
        try database.execute("INSERT OR REPLACE INTO sync_state VALUES (?, ?)", [.text(key), .text(value)])
    }

    /// Returns Ferry's own moves that may have been made but are not recorded yet.
    func announcedMoves() throws -> [(from: TaskPath, to: TaskPath)] { try moves("move") }

    func setAnnouncedMoves(_ moves: [(from: TaskPath, to: TaskPath)]) throws { try setMoves(moves, "move") }

    /// Returns the moves of earlier runs whose results could not be seen since.
    func unfinishedMoves() throws -> [(from: TaskPath, to: TaskPath)] { try moves("unfinished-moves") }

    func setUnfinishedMoves(_ moves: [(from: TaskPath, to: TaskPath)]) throws {
        try setMoves(moves, "unfinished-moves")
    }

    private func moves(_ key: String) throws -> [(from: TaskPath, to: TaskPath)] {
        // No name contains a line break.
        let paths = try state(key)?.split(separator: "\n").compactMap { try? TaskPath(String($0)) } ?? []
        return stride(from: 1, to: paths.count, by: 2).map { (paths[$0 - 1], paths[$0]) }
    }

    private func setMoves(_ moves: [(from: TaskPath, to: TaskPath)], _ key: String) throws {
        guard !moves.isEmpty else { return try removeState(key) }
        try setState(key, moves.map { "\($0.from)\n\($0.to)" }.joined(separator: "\n"))
    }

    // MARK: Files

    private static let findFile = "SELECT \(SyncSums.file), sum FROM sync_file WHERE task = ?"

    /// Returns the row of a task's file.
    ///
    /// - Throws: `SQLiteError` with `.damagedRow`, like all functions that read rows with
    ///   checksums.
    func file(_ task: TaskID) throws -> FileRow? {
        try database.first(Self.findFile, [.id(task)]) { row in
            try row.checkIntact(0..<11, sum: 11)
            return Self.file(row, bytes: row.bytes(10))
        } ?? nil
    }

    /// Returns all files without their bytes.
    func files() throws -> [FileRow] {
        var rows: [FileRow] = []
        try database.query("SELECT \(SyncSums.file), sum FROM sync_file") { row in
            try row.checkIntact(0..<11, sum: 11)
            if let file = Self.file(row, bytes: []) { rows.append(file) }
        }
        return rows
    }

    /// Returns all files with their bytes.
    func shadows() throws -> [FileRow] {
        var rows: [FileRow] = []
        try database.query("SELECT \(SyncSums.file), sum FROM sync_file") { row in
            try row.checkIntact(0..<11, sum: 11)
            if let file = Self.file(row, bytes: row.bytes(10)) { rows.append(file) }
        }
        return rows
    }

    private static func file(_ row: SQLiteStatement, bytes: [UInt8]) -> FileRow? {
        guard let path = try? TaskPath(row.text(1)) else { return nil }
        return FileRow(
            task: row.id(0), path: path, list: row.optionalID(2), stamp: stamp(row, from: 3), bytes: bytes)
    }

    /// Returns the task whose row has a path.
    func owner(of path: TaskPath) throws -> TaskID? {
        try database.first("SELECT task FROM sync_file WHERE path = ?", [.text(path.string)]) { $0.id(0) }
    }

    /// Keeps the row of a task whose file has moved and was not read yet, because another file has
    /// its path now. Until then the row has a path at which there is no file, with the same name.
    func setAside(_ task: TaskID) throws {
        guard var row = try file(task),
            let place = try? TaskPath("\(TaskPath.privateDirectory)/moving/\(task)/\(row.path.name)")
        else { return }
        row.path = place
        try write(row)
    }

    func put(_ row: FileRow) throws {
        try noteVersion(of: row.task, before: row.bytes)
        // Another task may have had the path.
        try database.execute(
            "DELETE FROM sync_file WHERE path = ? AND task <> ?", [.text(row.path.string), .id(row.task)])
        try write(row)
        try database.execute("DELETE FROM sync_write WHERE task = ?", [.id(row.task)])
    }

    private func write(_ row: FileRow) throws {
        try database.execute(
            """
            INSERT OR REPLACE INTO sync_file(\(SyncSums.file), sum)
            VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11, row_sum(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11))
            """,
            [.id(row.task), .text(row.path.string), .id(row.list)] + Self.values(row.stamp) + [.blob(row.bytes)]
        )
    }

    /// Records the contents that are about to be written to the files of known tasks; `put` removes
    /// the record.
    func announce(_ writes: [(task: TaskID, bytes: [UInt8])]) throws {
        for write in writes {
            try database.execute(
                "INSERT OR REPLACE INTO sync_write VALUES (?, ?)", [.id(write.task), .blob(write.bytes)])
        }
    }

    /// Returns the contents that were recorded when the last run ended, by task.
    func announced() throws -> [TaskID: [UInt8]] {
        var writes: [TaskID: [UInt8]] = [:]
        try database.query("SELECT task, bytes FROM sync_write") { writes[$0.id(0)] = $0.bytes(1) }
        return writes
    }

    func removeFile(_ task: TaskID) throws {
        try database.execute("DELETE FROM sync_file WHERE task = ?", [.id(task)])
        try database.execute("DELETE FROM sync_version WHERE task = ?", [.id(task)])
    }

    // MARK: Lists

    func lists() throws -> [(list: ListID, path: TaskPath)] {
        var lists: [(list: ListID, path: TaskPath)] = []
        try database.query("SELECT list, path, sum FROM sync_list") { row in
            try row.checkIntact(0..<2, sum: 2)
            if let path = try? TaskPath(row.text(1)) { lists.append((row.id(0), path)) }
        }
        return lists
    }

    func put(list: ListID, at path: TaskPath) throws {
        try database.execute(
            "DELETE FROM sync_list WHERE path = ? AND list <> ?", [.text(path.string), .id(list)])
        try database.execute(
            "INSERT OR REPLACE INTO sync_list(\(SyncSums.list), sum) VALUES (?1, ?2, row_sum(?1, ?2))",
            [.id(list), .text(path.string)])
    }

    func remove(list: ListID) throws {
        try database.execute("DELETE FROM sync_list WHERE list = ?", [.id(list)])
        try removeDirectory(of: list)
    }

    /// Returns the former name of a deleted list; nil if it was not deleted, or exists again.
    func nameOfDeleted(list: ListID) throws -> String? { try state("deleted-list \(list)") }

    /// Returns the deleted lists that had a name.
    func deletedLists(named name: String) throws -> [ListID] {
        let key = "deleted-list "
        var found: [ListID] = []
        try database.query(
            "SELECT key FROM sync_state WHERE key GLOB ? AND value = ? ORDER BY key", [.text(key + "*"), .text(name)]
        ) { found.append(ListID(String($0.text(0).dropFirst(key.count)))) }
        return found
    }

    func setNameOfDeleted(list: ListID, _ name: String?) throws {
        let key = "deleted-list \(list)"
        if let name { try setState(key, name) } else { try removeState(key) }
    }

    // MARK: Attachments

    func attachments() throws -> [AttachmentRow] {
        var rows: [AttachmentRow] = []
        try database.query("SELECT \(SyncSums.attachment), sum FROM sync_attachment") { row in
            try row.checkIntact(0..<13, sum: 13)
            rows.append(
                AttachmentRow(
                    task: row.id(0), attachment: row.id(1), name: row.text(2), sha256: row.text(3),
                    content: row.optionalText(11),
                    marks: row.optionalBytes(12).flatMap { ChunkFingerprints(bytes: $0) },
                    stamp: Self.stamp(row, from: 4)))
        }
        return rows
    }

    func put(_ row: AttachmentRow) throws {
        try database.execute(
            """
            INSERT OR REPLACE INTO sync_attachment(\(SyncSums.attachment), sum)
            VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13, row_sum(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13))
            """,
            [.id(row.task), .id(row.attachment), .text(row.name), .text(row.sha256)] + Self.values(row.stamp)
                + [.optional(row.content), .optional(row.marks?.bytes)])
    }

    func remove(attachment: AttachmentID, of task: TaskID) throws {
        try database.execute(
            "DELETE FROM sync_attachment WHERE task = ? AND attachment = ?", [.id(task), .id(attachment)])
    }

    func removeAttachments(of task: TaskID) throws {
        try database.execute("DELETE FROM sync_attachment WHERE task = ?", [.id(task)])
    }

    private static let orphaned = "left-beside "

    /// Returns the attachments of deleted tasks, by task; see `TaskSync.trashBeside`.
    func orphans() throws -> [TaskID: OrphanedAttachments] {
        var found: [TaskID: OrphanedAttachments] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.orphaned + "*")]) { row in
            found[TaskID(String(row.text(0).dropFirst(Self.orphaned.count)))] = OrphanedAttachments(saved: row.text(1))
        }
        return found
    }

    func setOrphans(_ files: OrphanedAttachments?, of task: TaskID) throws {
        let key = Self.orphaned + task.rawValue
        if let files { try setState(key, files.saved) } else { try removeState(key) }
    }

    // MARK: Held deletes

    func held() throws -> [TaskID: Int64] {
        var held: [TaskID: Int64] = [:]
        try database.query("SELECT task, since FROM sync_held") { held[$0.id(0)] = $0.int64(1) }
        return held
    }

    func hold(_ task: TaskID, since: Int64) throws {
        try database.execute("INSERT OR REPLACE INTO sync_held VALUES (?, ?)", [.id(task), .integer(since)])
    }

    func unhold(_ task: TaskID) throws {
        try database.execute("DELETE FROM sync_held WHERE task = ?", [.id(task)])
    }

    // MARK: Local trash

    /// Returns the times when the entries of the local trash were first seen.
    func trashed() throws -> [String: Retention.Moment] {
        var seen: [String: Retention.Moment] = [:]
        try database.query("SELECT entry, remote, local FROM sync_trash") { row in
            seen[row.text(0)] = Retention.Moment(
                server: Timestamp(microseconds: row.int64(1)), machine: row.int64(2))
        }
        return seen
    }

    func putTrashed(_ entry: String, _ moment: Retention.Moment) throws {
        try database.execute(
            "INSERT OR REPLACE INTO sync_trash VALUES (?, ?, ?)",
            [.text(entry), .integer(moment.server.microseconds), .integer(moment.machine)])
    }

    func removeTrashed(_ entry: String) throws {
        try database.execute("DELETE FROM sync_trash WHERE entry = ?", [.text(entry)])
    }

    // MARK: Damage

    /// Returns the damaged rows of files, by their row ids. Any of their values may be wrong.
    func damagedFiles() throws -> [(id: Int64, row: FileRow?)] {
        var damaged: [(id: Int64, row: FileRow?)] = []
        try database.query("SELECT \(SyncSums.file), sum, rowid FROM sync_file") { row in
            guard !row.isIntact(0..<11, sum: 11) else { return }
            damaged.append((row.int64(12), Self.file(row, bytes: [])))
        }
        return damaged
    }

    func removeFile(row id: Int64) throws {
        try database.execute("DELETE FROM sync_file WHERE rowid = ?", [.integer(id)])
    }

    /// Removes the damaged rows of the other tables, whose contents are found again.
    ///
    /// - Returns: The number of removed rows.
    func removeDamaged() throws -> Int64 {
        var count: Int64 = 0
        for (table, columns) in SyncSums.all where table != "sync_file" {
            try database.execute("DELETE FROM \(table) WHERE sum IS NOT row_sum(\(columns))")
            count += database.changedRowCount
        }
        return count
    }

    // MARK: Stamps

    private static func stamp(_ row: SQLiteStatement, from column: Int32) -> FileStamp {
        FileStamp(
            device: UInt64(bitPattern: row.int64(column)), inode: UInt64(bitPattern: row.int64(column + 1)),
            size: row.int64(column + 2),
            modified: FileTime(
                seconds: row.int64(column + 3), nanoseconds: Int32(truncatingIfNeeded: row.int64(column + 4))),
            changed: FileTime(
                seconds: row.int64(column + 5), nanoseconds: Int32(truncatingIfNeeded: row.int64(column + 6))))
    }

    private static func values(_ stamp: FileStamp) -> [SQLiteValue] {
        [
            .integer(Int64(bitPattern: stamp.device)), .integer(Int64(bitPattern: stamp.inode)), .integer(stamp.size),
            .integer(stamp.modified.seconds), .integer(Int64(stamp.modified.nanoseconds)),
            .integer(stamp.changed.seconds), .integer(Int64(stamp.changed.nanoseconds)),
        ]
    }
}
