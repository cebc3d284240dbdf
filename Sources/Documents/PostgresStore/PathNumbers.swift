import DocumentModel
import DocumentStore
import PostgreSQL

/// The numbers of collections and of index columns. A number that is known never changes.
///
/// Used on one thread.
final class PathNumbers {
    /// The maximum size of each cache.
    private static let limit = 20_000

    let partition: Int64
    private var collections: [[UInt8]: Int64] = [:]
    private var paths: [Int64: String] = [:]
    private var fields: [[UInt8]: Int64] = [:]
    private weak var source: PostgresConnection?

    init(partition: Int64) {
        self.partition = partition
    }

    /// Forgets the numbers if they are from another connection. A server that has taken the place of another one may
    /// lack the commits that assigned them, and give them to other paths.
    func use(_ connection: PostgresConnection) {
        if source !== connection { forget() }
        source = connection
    }

    /// Forgets numbers that a transaction that was rolled back may have assigned.
    func forget() {
        collections = [:]
        paths = [:]
        fields = [:]
    }

    func collection(
        _ key: [UInt8], _ connection: PostgresConnection
    ) throws(PostgresError) -> Int64? {
        if let known = collections[key] { return known }
        let rows = try connection.run(
            "SELECT collection FROM ferry.collection WHERE partition=$1 AND sha256(path)=sha256($2)",
            [.integer(partition), .bytes(key)])
        guard rows.count > 0 else { return nil }
        remember(rows.integer(0, 0), forCollection: key)
        return rows.integer(0, 0)
    }

    /// Returns the number of a collection if it is known.
    func known(collection key: [UInt8]) -> Int64? { collections[key] }

    func remember(_ number: Int64, forCollection key: [UInt8]) {
        if collections.count >= Self.limit { collections = [:] }
        collections[key] = number
    }

    func makeCollection(
        _ key: [UInt8], id: String, _ connection: PostgresConnection
    ) throws(PostgresError) -> Int64 {
        if let known = try collection(key, connection) { return known }
        let number = try connection.run(
            "INSERT INTO ferry.collection(partition, path, name) VALUES($1,$2,$3) RETURNING collection",
            [.integer(partition), .bytes(key), .bytes(Array(id.utf8))]
        ).integer(0, 0)
        remember(number, forCollection: key)
        return number
    }

    func path(of collection: Int64, _ connection: PostgresConnection) throws -> String {
        if let known = paths[collection] { return known }
        let rows = try connection.run(
            "SELECT path FROM ferry.collection WHERE collection=$1", [.integer(collection)])
        guard rows.count > 0, let path = rows.bytes(0, 0).withUnsafeBytes({ KeyBytes.decodePath($0) }) else {
            throw StoredDataError.missingCollection(collection)
        }
        if paths.count >= Self.limit { paths = [:] }
        paths[collection] = path
        return path
    }

    func name(
        collection: Int64, id: [UInt8], in database: DatabaseName, _ connection: PostgresConnection
    ) throws -> DocumentName {
        let path = try path(of: collection, connection)
        guard let id = String(validating: id, as: UTF8.self) else { throw StoredDataError.badID(collection) }
        return try DocumentName(database: database, path: "\(path)/\(id)")
    }

    func field(_ key: [UInt8], _ connection: PostgresConnection) throws(PostgresError) -> Int64? {
        if let known = fields[key] { return known }
        let rows = try connection.run(
            "SELECT field FROM ferry.field WHERE partition=$1 AND sha256(path)=sha256($2)",
            [.integer(partition), .bytes(key)])
        guard rows.count > 0 else { return nil }
        if fields.count >= Self.limit { fields = [:] }
        fields[key] = rows.integer(0, 0)
        return rows.integer(0, 0)
    }

    func makeField(_ key: [UInt8], _ connection: PostgresConnection) throws(PostgresError) -> Int64 {
        if let known = try field(key, connection) { return known }
        let number = try connection.run(
            "INSERT INTO ferry.field(partition, path) VALUES($1,$2) RETURNING field",
            [.integer(partition), .bytes(key)]
        ).integer(0, 0)
        fields[key] = number
        return number
    }
}
