import SQLite

/// The tables of a replica. Other targets keep their tables in the same file, with other prefixes
/// and separate migrations.
enum ReplicaSchema {
    static let component = "client"

    static let migrations = [
        SQLiteMigration(
            "first",
            sql: """
                -- One row of each: remote (identity), number (last sequence given out), read_time (newest boundary).
                CREATE TABLE client_state(key TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
                -- state: 0 never read, 1 does not exist as of version, 2 exists in version, 3 exists but no target has it.
                -- fields: the entries of google.firestore.v1.Document.fields. version: updateTime in microseconds.
                -- sequence: grows with every change of what a reader sees; the feed of changes.
                CREATE TABLE client_document(
                    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL, state INTEGER NOT NULL,
                    fields BLOB, created INTEGER NOT NULL, version INTEGER NOT NULL, sequence INTEGER NOT NULL);
                CREATE UNIQUE INDEX client_document_path ON client_document(collection, name);
                CREATE INDEX client_document_sequence ON client_document(sequence);
                CREATE INDEX client_document_missing ON client_document(version) WHERE state = 1;
                -- sequence names one content for ever; position orders the mutations of a document; batch: 0, or common to those
                -- that take effect together.
                -- parked: why the remote will not have it. appended: the local clock in ms, only ever shown.
                CREATE TABLE client_mutation(
                    sequence INTEGER PRIMARY KEY, position INTEGER NOT NULL, path TEXT NOT NULL, content BLOB NOT NULL,
                    batch INTEGER NOT NULL, parked TEXT, appended INTEGER NOT NULL);
                CREATE INDEX client_mutation_path ON client_mutation(path);
                CREATE TABLE client_target(
                    id INTEGER PRIMARY KEY, query BLOB NOT NULL UNIQUE, token BLOB NOT NULL, round INTEGER NOT NULL);
                -- round: the target's round in which the remote last named the document.
                CREATE TABLE client_member(
                    target INTEGER NOT NULL, document INTEGER NOT NULL, round INTEGER NOT NULL,
                    PRIMARY KEY(target, document)) WITHOUT ROWID;
                CREATE INDEX client_member_document ON client_member(document);
                CREATE TABLE client_consumer(name TEXT PRIMARY KEY, acknowledged INTEGER NOT NULL) WITHOUT ROWID;
                """),
        SQLiteMigration(
            "state keeps its types",
            // In a strict table, ANY preserves a text of digits. In other tables it is converted to
            // a number.
            sql: """
                ALTER TABLE client_state RENAME TO client_state_before;
                CREATE TABLE client_state(key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
                INSERT INTO client_state SELECT key, value FROM client_state_before
                    WHERE key<>'lineage' OR typeof(value)='text';
                DROP TABLE client_state_before;
                """),
        SQLiteMigration(
            "checksums of documents and mutations",
            // The column sum covers `DocumentRow.summed`, and `sequence, path, content`. State 4:
            // was damaged, to be read again.
            sql: """
                ALTER TABLE client_document ADD COLUMN sum INTEGER;
                UPDATE client_document SET sum=row_sum(\(DocumentRow.summed));
                ALTER TABLE client_mutation ADD COLUMN sum INTEGER;
                UPDATE client_mutation SET sum=row_sum(sequence, path, content);
                """),
    ]
}
