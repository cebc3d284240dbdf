/// The database below `AccountStore`, which runs its statements in transactions.
///
/// The statements are in the SQL that SQLite and PostgreSQL share, with `?` for each value. What
/// they do not share is in this protocol.
protocol AccountDatabase: Sendable {
    /// Runs `body` in a transaction, which is rolled back if it throws.
    ///
    /// Transactions of other servers may run at the same time and commit in between. A statement
    /// that must not act on what has changed meanwhile repeats the condition, and checks how many
    /// rows it has changed. `body` may run more than once.
    ///
    /// - Throws: `ConstraintViolation` for a row that another one excludes, and what `body` throws.
    @discardableResult
    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result

    /// Runs `body`, which contains queries only, outside a transaction.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result

    /// The expression for all rows of `provider_link` of an account, as a text with an array of
    /// arrays in JSON; null for no rows.
    var linksExpression: String { get }

    /// Whether other servers use the database, so that what they change must be read again.
    var isShared: Bool { get }

    func close() async
}

/// A transaction in progress.
protocol AccountTransaction {
    /// Runs a statement, and returns the number of rows that it has changed.
    @discardableResult
    func execute(_ sql: String, _ values: [StoredValue]) throws -> Int

    /// Calls `body` with each row of a query.
    func query(_ sql: String, _ values: [StoredValue], _ body: (StoredRow) throws -> Void) throws

    /// Makes other servers read again what they keep in memory of the accounts, once the transaction
    /// has committed.
    func notifyServers() throws
}

extension AccountTransaction {
    func query(_ sql: String, _ body: (StoredRow) throws -> Void) throws { try query(sql, [], body) }

    /// Returns what `body` makes of the first row; nil if there is none.
    func first<Result>(
        _ sql: String, _ values: [StoredValue] = [], _ body: (StoredRow) throws -> Result
    ) throws -> Result? {
        var result: Result?
        try query(sql, values) { row in if result == nil { result = try body(row) } }
        return result
    }
}

/// The error for a row that a constraint refuses, such as a second one with the same key.
struct ConstraintViolation: Error {
    let cause: any Error
}

/// A value of a column.
enum StoredValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    static func int(_ value: Int) -> StoredValue { .integer(Int64(value)) }

    static func bool(_ value: Bool) -> StoredValue { .integer(value ? 1 : 0) }

    static func optional(_ value: String?) -> StoredValue { value.map { .text($0) } ?? .null }

    static func optional(_ value: Int64?) -> StoredValue { value.map { .integer($0) } ?? .null }

    static func optional(_ value: [UInt8]?) -> StoredValue { value.map { .blob($0) } ?? .null }
}

extension StoredValue: ExpressibleByIntegerLiteral {
    init(integerLiteral value: Int64) { self = .integer(value) }
}

/// A row of a query. Columns that are null or not there read as 0 and empty.
struct StoredRow: Sendable {
    let values: [StoredValue]

    private subscript(_ column: Int) -> StoredValue { values.indices.contains(column) ? values[column] : .null }

    func optionalInt64(_ column: Int) -> Int64? {
        if case .integer(let value) = self[column] { value } else { nil }
    }

    func optionalText(_ column: Int) -> String? {
        if case .text(let value) = self[column] { value } else { nil }
    }

    func optionalBytes(_ column: Int) -> [UInt8]? {
        if case .blob(let value) = self[column] { value } else { nil }
    }

    func int64(_ column: Int) -> Int64 { optionalInt64(column) ?? 0 }

    func int(_ column: Int) -> Int { Int(int64(column)) }

    func bool(_ column: Int) -> Bool { int64(column) != 0 }

    func text(_ column: Int) -> String { optionalText(column) ?? "" }

    func bytes(_ column: Int) -> [UInt8] { optionalBytes(column) ?? [] }
}
