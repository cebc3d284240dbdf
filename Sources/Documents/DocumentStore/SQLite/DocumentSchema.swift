import SQLite

/// - `setting`: `epoch` random bytes that identify this database's history, `commit` the newest
///   commit's time, `clock` the lease of `CommitClock`, `horizon` the time after which the log is
///   complete, `indexed` the time up to which the index contains all commits, `recent` the number
///   of rows in that table, `inherits F` 1 once all documents have the field F of the documents
///   above them, `composite C F` the account for whose query the index F of the collection C was
///   created, `gap`
///   and `gap end` the times between which a standby's copy may lack commits.
enum DocumentSchema {
    static let component = "documents"

    static let migrations = [
        SQLiteMigration(
            "documents, index, log",
            sql: """
                CREATE TABLE setting(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
                INSERT INTO setting VALUES('epoch', randomblob(8)), ('commit', 0), ('clock', 0), ('horizon', 0);
                CREATE TABLE collection(
                    collection INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, name BLOB NOT NULL);
                CREATE INDEX collection_name ON collection(name, path);
                CREATE TABLE document(
                    document INTEGER PRIMARY KEY, collection INTEGER NOT NULL, id BLOB NOT NULL,
                    create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, fields BLOB NOT NULL);
                CREATE UNIQUE INDEX document_name ON document(collection, id);
                CREATE TABLE field(field INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE);
                CREATE TABLE entry(
                    collection INTEGER NOT NULL, field INTEGER NOT NULL, key BLOB NOT NULL, id BLOB NOT NULL,
                    document INTEGER NOT NULL, PRIMARY KEY(collection, field, key, id)) WITHOUT ROWID;
                CREATE TABLE change(
                    change INTEGER PRIMARY KEY, time INTEGER NOT NULL, collection INTEGER NOT NULL, id BLOB NOT NULL,
                    create_time INTEGER, update_time INTEGER, fields BLOB);
                CREATE INDEX change_time ON change(time);
                CREATE INDEX change_document ON change(collection, id, time) WHERE update_time IS NOT NULL;
                """),
        SQLiteMigration("index with one key a row, composite indexes, streams") { sqlite in
            try sqlite.executeScript(
                """
                DROP TABLE entry;
                CREATE TABLE entry(row BLOB NOT NULL PRIMARY KEY, document INTEGER NOT NULL) WITHOUT ROWID;
                CREATE TABLE composite(
                    collection INTEGER NOT NULL, field INTEGER NOT NULL, next INTEGER, PRIMARY KEY(collection, field))
                    WITHOUT ROWID;
                CREATE TABLE stream(
                    stream TEXT NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, digest BLOB NOT NULL,
                    response BLOB NOT NULL, PRIMARY KEY(stream, number)) WITHOUT ROWID;
                CREATE INDEX stream_time ON stream(time);
                INSERT INTO setting SELECT 'indexed', value FROM setting WHERE name='commit';
                """)
            try IndexRecovery.buildAll(in: sqlite)
        },
        SQLiteMigration(
            "recent index entries",
            sql: """
                CREATE TABLE recent(row BLOB NOT NULL PRIMARY KEY, document INTEGER NOT NULL) WITHOUT ROWID;
                INSERT INTO setting VALUES('recent', 0);
                UPDATE composite SET next=x'' WHERE next IS NOT NULL;
                """),
        SQLiteMigration(
            "fields that are not indexed",
            sql: """
                CREATE TABLE exemption(
                    collection TEXT NOT NULL, field TEXT NOT NULL, PRIMARY KEY(collection, field)) WITHOUT ROWID;
                """),
        SQLiteMigration("documents of each user") { sqlite in
            try sqlite.executeScript(
                """
                CREATE TABLE usage(owner TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID;
                CREATE TABLE inherited(document INTEGER PRIMARY KEY, owner TEXT NOT NULL);
                """)
            try OwnerCounts.countAll(in: sqlite)
        },
        SQLiteMigration("checksums of documents and the log", apply: RowSum.addAll),
        SQLiteMigration(
            "when commits were received",
            sql: "CREATE TABLE received(time INTEGER PRIMARY KEY, wall INTEGER NOT NULL)"),
    ]
}
