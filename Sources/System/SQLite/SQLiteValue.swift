/// A value in one of SQLite's storage classes (https://sqlite.org/datatype3.html).
package enum SQLiteValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

extension SQLiteValue {
    package static func int(_ value: Int) -> SQLiteValue { .integer(Int64(value)) }

    package static func bool(_ value: Bool) -> SQLiteValue { .integer(value ? 1 : 0) }

    package static func optional(_ value: String?) -> SQLiteValue { value.map { .text($0) } ?? .null }

    package static func optional(_ value: Int64?) -> SQLiteValue { value.map { .integer($0) } ?? .null }

    package static func optional(_ value: [UInt8]?) -> SQLiteValue { value.map { .blob($0) } ?? .null }
}

extension SQLiteValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    package init(nilLiteral: ()) { self = .null }

    package init(integerLiteral value: Int64) { self = .integer(value) }

    package init(stringLiteral value: String) { self = .text(value) }
}
