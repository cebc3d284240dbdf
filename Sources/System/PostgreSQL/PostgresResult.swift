import CPQ

/// The rows that a statement returned, in binary format.
package final class PostgresResult {
    private let result: OpaquePointer
    /// The number of rows.
    package let count: Int

    /// Takes ownership of a result of libpq.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
    }

    deinit { PQclear(result) }

    package func isNull(_ row: Int, _ column: Int) -> Bool {
        guard contains(row, column) else { return true }
        return PQgetisnull(result, Int32(row), Int32(column)) != 0
    }

    /// Returns the bytes of a value; none for null or a column that is not there.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8] {
        withBytes(row, column) { Array($0) }
    }

    package func text(_ row: Int, _ column: Int) -> String {
        withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns an integer of two, four or eight bytes; 0 for null.
    package func integer(_ row: Int, _ column: Int) -> Int64 {
        withBytes(row, column) { bytes in
            guard let first = bytes.first, bytes.count <= 8 else { return 0 }
            let start: UInt64 = first & 0x80 != 0 ? .max : 0
            return Int64(bitPattern: bytes.reduce(start) { $0 << 8 | UInt64($1) })
        }
    }

    package func boolean(_ row: Int, _ column: Int) -> Bool {
        withBytes(row, column) { $0.first == 1 }
    }

    /// Returns a value with the type that the server gave it: an integer for booleans as well, and a
    /// text for types that are neither numbers nor bytes.
    package func value(_ row: Int, _ column: Int) -> PostgresValue {
        guard !isNull(row, column) else { return .null }
        return switch PQftype(result, Int32(column)) {
        case 20, 21, 23: .integer(integer(row, column))
        case 16: .integer(boolean(row, column) ? 1 : 0)
        case 17: .bytes(bytes(row, column))
        default: .text(text(row, column))
        }
    }

    /// The number of columns.
    package var columnCount: Int { Int(PQnfields(result)) }

    /// The number of rows that the statement changed; 0 for one that changes none.
    package var changedRowCount: Int {
        PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    private func contains(_ row: Int, _ column: Int) -> Bool {
        row >= 0 && row < count && column >= 0 && column < Int(PQnfields(result))
    }

    private func withBytes<Value>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard contains(row, column), let start = PQgetvalue(result, Int32(row), Int32(column)) else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let length = max(0, Int(PQgetlength(result, Int32(row), Int32(column))))
        return body(UnsafeRawBufferPointer(start: start, count: length))
    }
}
