package import JSON

/// A type with a JSON form that both ends of the socket know. Field names stay and fields are only added, so reading tolerates
/// unknown members and supplies what an older writer left out.
package protocol JSONCodable: Sendable {
    /// - Throws: `ControlError` with code `invalid-argument` if a member that must be there is missing or of another type.
    init(json: JSON) throws(ControlError)
    var json: JSON { get }
}

extension Array: JSONCodable where Element: JSONCodable {
    package init(json: JSON) throws(ControlError) {
        guard let values = json.arrayValue else { throw .malformed("an array was expected") }
        self = []
        reserveCapacity(values.count)
        for value in values { append(try Element(json: value)) }
    }

    package var json: JSON { .array(map(\.json)) }
}

extension JSON {
    /// The string member `key`, which must be there.
    func string(_ key: String) throws(ControlError) -> String {
        guard let value = self[key]?.stringValue else { throw .malformed("'\(key)' must be a string") }
        return value
    }

    /// The integer member `key`, which must be there.
    func integer(_ key: String) throws(ControlError) -> Int64 {
        guard let value = self[key]?.integerValue else { throw .malformed("'\(key)' must be an integer") }
        return value
    }

    /// The boolean member `key`; false if absent.
    func flag(_ key: String) -> Bool { self[key]?.booleanValue ?? false }

    /// The strings of the array member `key`; empty if absent.
    func strings(_ key: String) -> [String] { self[key]?.arrayValue?.compactMap(\.stringValue) ?? [] }

    /// The decoded array member `key`; empty if absent.
    func list<Element: JSONCodable>(_ key: String) throws(ControlError) -> [Element] {
        guard let value = self[key] else { return [] }
        return try [Element](json: value)
    }

    /// A value with a raw string; `unknown` for one that this version does not know.
    func choice<Choice: RawRepresentable<String>>(_ key: String, unknown: Choice) -> Choice {
        self[key]?.stringValue.flatMap(Choice.init(rawValue:)) ?? unknown
    }

    /// An object of the members that are there.
    static func members(_ members: (String, JSON?)...) -> JSON {
        var object = JSONObject()
        for (key, value) in members { if let value { object[key] = value } }
        return .object(object)
    }
}

extension String {
    var asJSON: JSON { .string(self) }
}

extension BinaryInteger {
    var asJSON: JSON { .integer(Int64(clamping: self)) }
}

extension Bool {
    var asJSON: JSON { .boolean(self) }

    /// Absent unless true.
    var ifTrue: JSON? { self ? .boolean(true) : nil }
}

extension Double {
    var asJSON: JSON { .number(self) }
}

extension [String] {
    var asJSON: JSON { .array(map(JSON.string)) }

    /// Absent if empty.
    var ifAny: JSON? { isEmpty ? nil : asJSON }
}
