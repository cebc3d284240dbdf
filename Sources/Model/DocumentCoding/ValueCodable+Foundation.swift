package import DocumentModel
package import FoundationEssentials

// The forms of Foundation's types in documents:
//
// | type      | form                                                                     |
// |-----------|--------------------------------------------------------------------------|
// | `Date`    | timestamp, rounded down to microseconds                                  |
// | `Data`    | bytes                                                                    |
// | `URL`     | string                                                                   |
// | `UUID`    | string in upper case                                                     |
// | `Decimal` | string, because a double would round it; a stored number is read as well |

extension Date: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> Date {
        guard case .timestamp(let time) = value else { throw ValueMismatch(expected: "a timestamp", found: value) }
        return Date(time)
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        guard let time = Timestamp(self) else { throw ValueMismatch("The date is not in the years 1 to 9999.") }
        return .value(.timestamp(time))
    }

    package static var examples: (Date, Date) { (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1)) }

    /// Creates the date of a timestamp.
    package init(_ time: Timestamp) { self.init(timeIntervalSince1970: Double(time.microseconds) / 1_000_000) }
}

extension Timestamp {
    private static let afterLast: Int64 = 253_402_300_800_000_000

    /// Creates the timestamp of a date; nil outside of the years 1 to 9999.
    package init?(_ date: Date) {
        // A date holds a double, which has no exact form for most microseconds, so the nearest one is taken.
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        guard var whole = Int64(exactly: microseconds) else { return nil }
        // The last microsecond of the year 9999 is rounded up to the year 10000.
        if whole == Self.afterLast { whole -= 1 }
        self.init(microseconds: whole)
        guard isValid else { return nil }
    }
}

extension Data: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> Data {
        guard case .bytes(let bytes) = value else { throw ValueMismatch(expected: "bytes", found: value) }
        return Data(bytes)
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        .value(.bytes([UInt8](self)))
    }

    package static var examples: (Data, Data) { (Data(), Data([1])) }
}

extension URL: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> URL {
        guard case .string(let text) = value else { throw ValueMismatch(expected: "a string", found: value) }
        guard let url = URL(string: text) else { throw ValueMismatch("The string is not a URL.") }
        return url
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        .value(.string(absoluteString))
    }

    package static var examples: (URL, URL) { (URL(filePath: "/a"), URL(filePath: "/b")) }
}

extension UUID: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> UUID {
        guard case .string(let text) = value else { throw ValueMismatch(expected: "a string", found: value) }
        guard let id = UUID(uuidString: text) else { throw ValueMismatch("The string is not a UUID.") }
        return id
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        .value(.string(uuidString))
    }

    package static var examples: (UUID, UUID) {
        (
            UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
            UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
        )
    }
}

extension Decimal: ValueCodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> Decimal {
        switch value {
        case .string(let text):
            guard let number = Decimal(string: text) else { throw ValueMismatch("The string is not a number.") }
            return number
        case .integer(let number): return Decimal(number)
        case .double(let number) where number.isFinite: return Decimal(number)
        default: throw ValueMismatch(expected: "a string with a number", found: value)
        }
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        guard isFinite else { throw ValueMismatch("The number is not finite.") }
        return .value(.string(description))
    }

    package static var examples: (Decimal, Decimal) { (0, 1) }
}
