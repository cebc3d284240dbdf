import CSQLite

/// A prepared statement: bind, step, read columns, reset.
///
/// Parameters count from 1 and columns from 0, as in SQLite. A column that does not exist or has
/// another type is converted as SQLite does (0, empty) and never traps. Belongs to its database's
/// owner; not thread safe.
package final class SQLiteStatement {
    package let sql: String
    private let database: SQLiteDatabase
    private let handle: OpaquePointer

    init(database: SQLiteDatabase, handle: OpaquePointer, sql: String) {
        self.database = database
        self.handle = handle
        self.sql = sql
    }

    deinit { sqlite3_finalize(handle) }

    // MARK: Parameters

    package func bind(_ index: Int32, _ value: Int64) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, index, value))
    }

    package func bind(_ index: Int32, _ value: Int) throws(SQLiteError) { try bind(index, Int64(value)) }

    package func bind(_ index: Int32, _ value: Double) throws(SQLiteError) {
        try check(sqlite3_bind_double(handle, index, value))
    }

    package func bind(_ index: Int32, _ value: String) throws(SQLiteError) {
        var value = value
        let code = value.withUTF8 { buffer in
            buffer.withMemoryRebound(to: CChar.self) { characters in
                // A nil address would bind NULL, so an empty string needs a non-nil address.
                characters.baseAddress.map { csqlite_bind_text(handle, index, $0, sqlite3_uint64(buffer.count)) }
                    ?? csqlite_bind_text(handle, index, "", 0)
            }
        }
        try check(code)
    }

    package func bind(_ index: Int32, _ value: [UInt8]) throws(SQLiteError) {
        try check(value.withUnsafeBytes { bindBlob(index, $0) })
    }

    /// Binds a blob by copying the bytes; the buffer need not outlive the call.
    package func bind(_ index: Int32, _ value: UnsafeRawBufferPointer) throws(SQLiteError) {
        try check(bindBlob(index, value))
    }

    package func bindNull(_ index: Int32) throws(SQLiteError) { try check(sqlite3_bind_null(handle, index)) }

    package func bind(_ index: Int32, _ value: SQLiteValue) throws(SQLiteError) {
        switch value {
        case .null: try bindNull(index)
        case .integer(let value): try bind(index, value)
        case .real(let value): try bind(index, value)
        case .text(let value): try bind(index, value)
        case .blob(let value): try bind(index, value)
        }
    }

    /// Binds parameters 1, 2, … in order.
    package func bind(_ values: [SQLiteValue]) throws(SQLiteError) {
        var index: Int32 = 1
        for value in values {
            try bind(index, value)
            index += 1
        }
    }

    private func bindBlob(_ index: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let address = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(handle, index, 0) }
        return csqlite_bind_blob(handle, index, address, sqlite3_uint64(bytes.count))
    }

    // MARK: Rows

    /// Moves to the next row. Returns false if there is none; the next `step()` or `reset()` then
    /// resets the statement.
    package func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw database.error(code, doing: "use", sql: sql)
        }
    }

    /// Runs the statement to completion, discards its rows, and resets it.
    package func run() throws(SQLiteError) {
        defer { reset() }
        while try step() {}
    }

    /// Ends the current execution and releases the read lock. Bindings are kept.
    package func reset() { sqlite3_reset(handle) }

    /// Resets the statement and its bindings, so that no large value stays in memory.
    package func clear() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: Columns of the current row

    package var columnCount: Int32 { sqlite3_column_count(handle) }

    package func columnName(_ column: Int32) -> String {
        sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
    }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    package func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }

    package func bool(_ column: Int32) -> Bool { sqlite3_column_int64(handle, column) != 0 }

    package func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    /// Returns a column as text. Invalid UTF-8 is replaced with U+FFFD.
    package func text(_ column: Int32) -> String {
        guard let address = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: address, count: count), as: UTF8.self)
    }

    package func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { [UInt8]($0) } }

    /// Calls `body` with the bytes of a blob or text in SQLite's memory, which are valid only
    /// during the call.
    package func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
        -> Result
    {
        let address = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return try body(UnsafeRawBufferPointer(start: address, count: address == nil ? 0 : count))
    }

    package func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    package func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// Whether a range of columns has the values that were stored, according to the checksum in
    /// column `sum`, which the SQL function `row_sum(…)` computed of the same values in the same
    /// order.
    ///
    /// SQLite does not detect a flipped bit in a value. A row whose checksum is NULL counts as
    /// damaged.
    package func isIntact(_ columns: Range<Int32>, sum: Int32) -> Bool {
        guard sqlite3_column_type(handle, sum) == SQLITE_INTEGER else { return false }
        let expected = Int64(csqlite_column_sum(handle, columns.lowerBound, columns.upperBound))
        return sqlite3_column_int64(handle, sum) == expected
    }

    /// Throws `.damagedRow` if the columns are not intact; see `isIntact`.
    package func checkIntact(_ columns: Range<Int32>, sum: Int32) throws(SQLiteError) {
        guard !isIntact(columns, sum: sum) else { return }
        throw SQLiteError(
            code: .damagedRow, message: "A row in the database \(database.path) is damaged.", sql: sql)
    }

    package func value(_ column: Int32) -> SQLiteValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(int64(column))
        case SQLITE_FLOAT: .real(double(column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(bytes(column))
        default: .null
        }
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw database.error(code, doing: "bind a parameter for", sql: sql) }
    }
}
