import PostgreSQL

/// The tables of all databases of a server, in the schema `ferry`.
///
/// - `database`: one row for each Firestore database. `clock` is the time that every later commit
///   exceeds, and up to which every commit is visible; a writer locks the row for its transaction.
///   `horizon` is the time after which `change` is complete. `layout` grows when composite indexes
///   or exemptions change.
/// - `document`: the newest versions. `owner` is the user whose quota a document without the field
///   `userId` counts toward.
/// - `entry`: the rows of `IndexEntries`.
/// - `change`: the log of changes, each with the version that it replaced.
/// - `batch`: one row for each transaction that committed, by a random token, from which a writer
///   learns what became of a COMMIT whose answer it lost.
///
/// Paths may be longer than what a B-tree of PostgreSQL can hold, so they are indexed by their digest
/// and by their beginning. There are no triggers, notifications and advisory locks, so that
/// databases that speak PostgreSQL's protocol can be used.
enum PostgresSchema {
    /// The number of leading bytes of a path that are indexed.
    static let pathHead = 1000

    static let migrations: [[String]] = [
        [
            """
            CREATE TABLE ferry.database(
                partition bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
                epoch bytea NOT NULL, clock bigint NOT NULL DEFAULT 0, horizon bigint NOT NULL DEFAULT 0,
                layout bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20)
            """,
            """
            CREATE TABLE ferry.setting(
                partition bigint NOT NULL, name text NOT NULL, value bigint NOT NULL, PRIMARY KEY(partition, name))
            """,
            """
            CREATE TABLE ferry.collection(
                collection bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, partition bigint NOT NULL,
                path bytea NOT NULL, name bytea NOT NULL)
            """,
            "CREATE UNIQUE INDEX collection_digest ON ferry.collection(partition, sha256(path))",
            "CREATE INDEX collection_path ON ferry.collection(partition, substring(path, 1, \(pathHead)))",
            "CREATE INDEX collection_name ON ferry.collection(partition, name, substring(path, 1, \(pathHead)))",
            "CREATE SEQUENCE ferry.document_number INCREMENT BY 1000",
            """
            CREATE TABLE ferry.document(
                document bigint PRIMARY KEY, collection bigint NOT NULL, id bytea NOT NULL,
                create_time bigint NOT NULL, update_time bigint NOT NULL, fields bytea NOT NULL, owner bytea)
                WITH (fillfactor = 85)
            """,
            "CREATE UNIQUE INDEX document_name ON ferry.document(collection, id)",
            """
            CREATE TABLE ferry.field(
                field bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, partition bigint NOT NULL, path bytea NOT NULL)
            """,
            "CREATE UNIQUE INDEX field_digest ON ferry.field(partition, sha256(path))",
            "CREATE TABLE ferry.entry(row bytea PRIMARY KEY, document bigint NOT NULL)",
            """
            CREATE TABLE ferry.composite(
                collection bigint NOT NULL, field bigint NOT NULL, next bytea, account text,
                PRIMARY KEY(collection, field))
            """,
            """
            CREATE TABLE ferry.exemption(
                partition bigint NOT NULL, collection text NOT NULL, field text NOT NULL,
                PRIMARY KEY(partition, collection, field))
            """,
            """
            CREATE TABLE ferry.change(
                partition bigint NOT NULL, time bigint NOT NULL, number bigint NOT NULL, collection bigint NOT NULL,
                id bytea NOT NULL, create_time bigint, update_time bigint, fields bytea,
                PRIMARY KEY(partition, time, number))
            """,
            """
            CREATE INDEX change_document ON ferry.change(collection, id, time) WHERE update_time IS NOT NULL
            """,
            """
            CREATE TABLE ferry.usage(
                partition bigint NOT NULL, owner bytea NOT NULL, documents bigint NOT NULL,
                PRIMARY KEY(partition, owner))
            """,
            """
            CREATE TABLE ferry.stream(
                partition bigint NOT NULL, stream bytea NOT NULL, number bigint NOT NULL, time bigint NOT NULL,
                digest bytea NOT NULL, response bytea NOT NULL, PRIMARY KEY(partition, stream, number))
            """,
            "CREATE INDEX stream_time ON ferry.stream(partition, time)",
            """
            CREATE TABLE ferry.batch(
                partition bigint NOT NULL, time bigint NOT NULL, token bytea NOT NULL, PRIMARY KEY(partition, time))
            """,
        ]
    ]

    /// Returns the number and the epoch of a database, which is created if necessary.
    static func database(
        _ name: String, newEpoch: [UInt8], _ connection: PostgresConnection
    ) throws(PostgresError) -> (partition: Int64, epoch: [UInt8]) {
        try connection.run(
            """
            INSERT INTO ferry.database(name, epoch, clock)
            VALUES($1,$2,(extract(epoch FROM clock_timestamp())*1000000)::bigint) ON CONFLICT (name) DO NOTHING
            """,
            [.text(name), .bytes(newEpoch)])
        let row = try connection.run("SELECT partition, epoch FROM ferry.database WHERE name=$1", [.text(name)])
        return (row.integer(0, 0), row.bytes(0, 1))
    }
}
