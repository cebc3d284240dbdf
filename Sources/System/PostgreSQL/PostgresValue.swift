/// A parameter of a statement. Sent in PostgreSQL's binary format.
package enum PostgresValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    case integers([Int64?])
    case blobs([[UInt8]?])
    case texts([String?])

    /// The type's number in `pg_type`.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .integer: Self.int8
        case .text: Self.textType
        case .bytes: Self.bytea
        case .integers: 1016
        case .blobs: 1001
        case .texts: 1009
        }
    }

    private static let int8: UInt32 = 20
    private static let textType: UInt32 = 25
    private static let bytea: UInt32 = 17

    /// The value's bytes; nil for null.
    var encoded: [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let number): Self.bytes(number)
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        case .integers(let numbers): Self.array(numbers, of: Self.int8) { Self.bytes($0) }
        case .blobs(let blobs): Self.array(blobs, of: Self.bytea) { $0 }
        case .texts(let texts): Self.array(texts, of: Self.textType) { Array($0.utf8) }
        }
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        let word = UInt64(bitPattern: number)
        return (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64($0))) }
    }

    /// Returns an array of one dimension: the number of dimensions, whether there are nulls, the
    /// type, the count, the first index, then each element after its length.
    private static func array<Element>(
        _ elements: [Element?], of type: UInt32, _ encode: (Element) -> [UInt8]
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        func append(_ word: UInt32) {
            for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: word >> UInt32(shift))) }
        }
        append(elements.isEmpty ? 0 : 1)
        append(elements.contains { $0 == nil } ? 1 : 0)
        append(type)
        guard !elements.isEmpty else { return bytes }
        append(UInt32(truncatingIfNeeded: elements.count))
        append(1)
        for element in elements {
            guard let element else {
                append(.max)
                continue
            }
            let content = encode(element)
            append(UInt32(truncatingIfNeeded: content.count))
            bytes += content
        }
        return bytes
    }
}

/// A statement with its parameters `$1`, `$2`, ….
package struct PostgresStatement: Sendable {
    package let sql: String
    package let values: [PostgresValue]

    package init(_ sql: String, _ values: [PostgresValue] = []) {
        self.sql = sql
        self.values = values
    }
}
