import DocumentModel
import FirestoreProtocol
import SQLite

/// The tables of one database, read through one connection. What both the writer and the readers need.
final class DocumentTables {
    /// A document's newest version as it is stored.
    struct Row {
        let document: Int64
        let createTime: Int64
        let updateTime: Int64
        let fields: [UInt8]
    }

    let sqlite: SQLiteDatabase
    let name: DatabaseName
    let tuning: QueryTuning
    private var collectionNumbers: [[UInt8]: Int64] = [:]
    private var fieldNumbers: [[UInt8]: Int64] = [:]
    private var collectionPaths: [Int64: String] = [:]

    /// Bounds the number caches; a database with more paths than this looks the others up.
    private static let cacheLimit = 20_000

    init(_ sqlite: SQLiteDatabase, name: DatabaseName, tuning: QueryTuning = QueryTuning()) {
        self.sqlite = sqlite
        self.name = name
        self.tuning = tuning
    }

    /// Forgets numbers that a rolled back transaction may have made.
    func forgetNumbers() {
        collectionNumbers = [:]
        fieldNumbers = [:]
        collectionPaths = [:]
    }

    // MARK: Numbers of names

    func collection(_ path: String) throws -> Int64? { try collection(key: KeyBytes.path(path)) }

    func collection(key: [UInt8]) throws -> Int64? {
        if let known = collectionNumbers[key] { return known }
        let found = try sqlite.withStatement("SELECT collection FROM collection WHERE path=?") { statement in
            try statement.bind(1, key)
            return try statement.step() ? statement.int64(0) : nil
        }
        if let found { remember(found, forCollection: key) }
        return found
    }

    func remember(_ number: Int64, forCollection key: [UInt8]) {
        if collectionNumbers.count >= Self.cacheLimit { collectionNumbers = [:] }
        collectionNumbers[key] = number
    }

    func field(_ key: [UInt8]) throws -> Int64? {
        if let known = fieldNumbers[key] { return known }
        let found = try sqlite.withStatement("SELECT field FROM field WHERE path=?") { statement in
            try statement.bind(1, key)
            return try statement.step() ? statement.int64(0) : nil
        }
        if let found { remember(found, forField: key) }
        return found
    }

    func remember(_ number: Int64, forField key: [UInt8]) {
        if fieldNumbers.count >= Self.cacheLimit { fieldNumbers = [:] }
        fieldNumbers[key] = number
    }

    func collectionPath(_ number: Int64) throws -> String {
        if let known = collectionPaths[number] { return known }
        let path = try sqlite.first("SELECT path FROM collection WHERE collection=?", [.integer(number)]) { row in
            row.withBytes(0) { KeyBytes.decodePath($0) }
        }
        guard let path = path ?? nil else { throw StoredDataError.missingCollection(number) }
        if collectionPaths.count >= Self.cacheLimit { collectionPaths = [:] }
        collectionPaths[number] = path
        return path
    }

    // MARK: Documents

    func row(collection: Int64, id: [UInt8]) throws -> Row? {
        try sqlite.withStatement(
            "SELECT document, create_time, update_time, fields FROM document WHERE collection=? AND id=?"
        ) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, id)
            guard try statement.step() else { return nil }
            return Row(
                document: statement.int64(0), createTime: statement.int64(1), updateTime: statement.int64(2),
                fields: statement.bytes(3))
        }
    }

    func row(_ name: DocumentName) throws -> Row? {
        guard let collection = try collection(name.collectionPath) else { return nil }
        return try row(collection: collection, id: Array(name.id.utf8))
    }

    /// The newest version.
    func document(_ name: DocumentName) throws -> EncodedDocument? {
        try row(name).map { EncodedDocument(name: name, row: $0) }
    }

    /// The version as of `time`, which must be within the log.
    func document(_ name: DocumentName, at time: Int64) throws -> EncodedDocument? {
        guard let collection = try collection(name.collectionPath) else { return nil }
        return try document(name, collection: collection, id: Array(name.id.utf8), at: time)
    }

    func document(_ name: DocumentName, collection: Int64, id: [UInt8], at time: Int64) throws -> EncodedDocument? {
        if let row = try row(collection: collection, id: id), row.updateTime <= time {
            return EncodedDocument(name: name, row: row)
        }
        return try sqlite.withStatement(
            """
            SELECT create_time, update_time, fields FROM change
            WHERE collection=? AND id=? AND time>? AND update_time IS NOT NULL ORDER BY time LIMIT 1
            """
        ) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, id)
            try statement.bind(3, time)
            guard try statement.step(), statement.int64(1) <= time else { return nil }
            return EncodedDocument(
                name: name, createTime: statement.int64(0), updateTime: statement.int64(1), fields: statement.bytes(2))
        }
    }

    func name(collection: Int64, id: [UInt8]) throws -> DocumentName {
        let path = try collectionPath(collection)
        guard let id = String(validating: id, as: UTF8.self) else { throw StoredDataError.badID(collection) }
        return try DocumentName(database: name, path: "\(path)/\(id)")
    }

    // MARK: Settings

    func setting(_ name: String) throws -> Int64 {
        try sqlite.withStatement("SELECT value FROM setting WHERE name=?") { statement in
            try statement.bind(1, name)
            return try statement.step() ? statement.int64(0) : 0
        }
    }

    func setSetting(_ name: String, _ value: Int64) throws {
        try sqlite.withStatement("UPDATE setting SET value=? WHERE name=?") { statement in
            try statement.bind(1, value)
            try statement.bind(2, name)
            try statement.run()
        }
    }

    /// Throws unless the log reaches back to `time`.
    func checkHorizon(_ time: Int64) throws {
        guard try setting("horizon") <= time else {
            throw DocumentStoreError(.failedPrecondition, "The requested 'read_time' is too old.")
        }
    }

    func epoch() throws -> [UInt8] {
        try sqlite.first("SELECT value FROM setting WHERE name='epoch'") { $0.bytes(0) } ?? []
    }
}

extension EncodedDocument {
    init(name: DocumentName, row: DocumentTables.Row) {
        self.init(name: name, createTime: row.createTime, updateTime: row.updateTime, fields: row.fields)
    }

    init(name: DocumentName, createTime: Int64, updateTime: Int64, fields: [UInt8]) {
        self.init(
            name: name, fields: EncodedFields(bytes: fields), createTime: Timestamp(microseconds: createTime),
            updateTime: Timestamp(microseconds: updateTime))
    }
}

/// The tables contradict each other: the file was damaged or changed by hand.
enum StoredDataError: Error, CustomStringConvertible {
    case missingCollection(Int64)
    case badID(Int64)

    var description: String {
        switch self {
        case .missingCollection(let number): "The table of collections lacks number \(number)."
        case .badID(let number): "A document of collection number \(number) has an id that is no UTF-8."
        }
    }
}
