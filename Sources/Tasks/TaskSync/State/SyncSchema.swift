import ObjectStorage
import SQLite
import TaskFolder
import TaskModel

/// The tables of the bridge. They are in the document client's file, so that they share its
/// transactions.
enum SyncSchema {
    static let component = "sync"

    static let migrations = [
        SQLiteMigration(
            "files, lists, attachments, held deletes",
            sql: """
                CREATE TABLE sync_state(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
                -- The shadow: each task file as this replica last read or wrote it.
                CREATE TABLE sync_file(
                    task TEXT PRIMARY KEY, path TEXT NOT NULL UNIQUE, list TEXT, device INTEGER NOT NULL,
                    inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
                    modified_nanos INTEGER NOT NULL, changed INTEGER NOT NULL, changed_nanos INTEGER NOT NULL,
                    bytes BLOB NOT NULL) STRICT;
                CREATE TABLE sync_list(list TEXT PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT, WITHOUT ROWID;
                CREATE TABLE sync_attachment(
                    task TEXT NOT NULL, attachment TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL,
                    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
                    modified_nanos INTEGER NOT NULL, changed INTEGER NOT NULL, changed_nanos INTEGER NOT NULL,
                    PRIMARY KEY (task, attachment)) STRICT, WITHOUT ROWID;
                -- Deletes that wait for approval. since: seconds of the local clock, only ever shown.
                CREATE TABLE sync_held(task TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "what can be undone",
            sql: """
                -- before, after: the task as a file; NULL: it was not there. time: seconds of the local clock, only ever shown.
                CREATE TABLE sync_step(
                    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, task TEXT NOT NULL, kind TEXT NOT NULL,
                    before BLOB, before_list TEXT, after BLOB, after_list TEXT, time INTEGER NOT NULL,
                    undone INTEGER NOT NULL) STRICT;
                CREATE INDEX sync_step_task ON sync_step(task, id);
                """),
        SQLiteMigration(
            "since when the local trash has what is in it",
            sql: """
                -- remote: microseconds by the remote's clock; local: seconds by this machine's. Both when it was first seen.
                CREATE TABLE sync_trash(entry TEXT PRIMARY KEY, remote INTEGER NOT NULL, local INTEGER NOT NULL)
                    STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "what is being put into files",
            sql: """
                -- bytes: what a known task file is about to say, until that is noted in sync_file.
                CREATE TABLE sync_write(task TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
                """),
        SQLiteMigration(
            "where the content of attachments is",
            sql: """
                -- content: the key of its object; marks: of its chunks, see ChunkFingerprints. NULL: not known.
                ALTER TABLE sync_attachment ADD COLUMN content TEXT;
                ALTER TABLE sync_attachment ADD COLUMN marks BLOB;
                """),
        SQLiteMigration(
            "checksums",
            // The checksum of the columns in `SyncSums`.
            sql: SyncSums.all.map { table, columns in
                """
                ALTER TABLE \(table) ADD COLUMN sum INTEGER;
                UPDATE \(table) SET sum=row_sum(\(columns));
                """
            }.joined(separator: "\n")),
        SQLiteMigration(
            "former versions of files",
            sql: """
                -- hash: `row_sum` of what the file said before; size: how many bytes that had.
                CREATE TABLE sync_version(
                    id INTEGER PRIMARY KEY, task TEXT NOT NULL, size INTEGER NOT NULL, hash INTEGER NOT NULL) STRICT;
                CREATE INDEX sync_version_task ON sync_version(task, id);
                """),
    ]
}

/// The columns that the checksums of the bridge's tables cover: those whose damage could cause an
/// edit, a move or a delete.
enum SyncSums {
    static let stamp = "device, inode, size, modified, modified_nanos, changed, changed_nanos"
    static let file = "task, path, list, \(stamp), bytes"
    static let list = "list, path"
    static let attachment = "task, attachment, name, sha256, \(stamp), content, marks"
    static let step = "task, kind, before, before_list, after, after_list"

    static let all = [
        ("sync_file", file), ("sync_list", list), ("sync_attachment", attachment), ("sync_step", step),
    ]
}

/// The known state of a task file.
struct FileRow: Sendable {
    var task: TaskID
    var path: TaskPath
    /// The list of the task when the file was last in step; nil for the default list.
    var list: ListID?
    var stamp: FileStamp
    /// The shadow: the bytes of the file when it was last in step.
    var bytes: [UInt8]
}

/// The known state of an attachment's file, which is complete and verified.
struct AttachmentRow: Sendable, Hashable {
    var task: TaskID
    var attachment: AttachmentID
    var name: String
    /// The digest in lower-case hexadecimal digits.
    var sha256: String
    /// The key of the object that identifies the content, if it is known.
    var content: String?
    /// The fingerprints of the chunks of a long file.
    var marks: ChunkFingerprints?
    var stamp: FileStamp

    var contentKey: ObjectKey? { content.flatMap { try? ObjectKey($0) } }
}
