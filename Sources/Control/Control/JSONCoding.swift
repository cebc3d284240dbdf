package import JSON

/// A type with a JSON form for the socket. Names of members never change and members are only
/// added. Parsing therefore ignores unknown members and uses defaults for members that an older
/// version does not write.
package protocol JSONCodable: Sendable {
    /// Parses the JSON form.
    ///
    /// - Throws: `ControlError` with code `invalid-argument` if a required member is missing or has
    ///   the wrong type.
    init(json: JSON) throws(ControlError)
    /// The JSON form.
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
    /// Returns the required string member `key`.
    func string(_ key: String) throws(ControlError) -> String {
        guard let value = self[key]?.stringValue else { throw .malformed("'\(key)' must be a string") }
        return value
    }

    /// Returns the required integer member `key`.
    func integer(_ key: String) throws(ControlError) -> Int64 {
        guard let value = self[key]?.integerValue else { throw .malformed("'\(key)' must be an integer") }
        return value
    }

    /// Returns the Boolean member `key`; false if it is missing.
    func flag(_ key: String) -> Bool { self[key]?.booleanValue ?? false }

    /// Returns the strings in the array member `key`; none if it is missing.
    func strings(_ key: String) -> [String] { self[key]?.arrayValue?.compactMap(\.stringValue) ?? [] }

    /// Returns the integers in the array member `key`; none if it is missing.
    func integers(_ key: String) -> [Int] {
        self[key]?.arrayValue?.compactMap { $0.integerValue.map { Int(clamping: $0) } } ?? []
    }

    /// Parses the array member `key`; empty if it is missing.
    func list<Element: JSONCodable>(_ key: String) throws(ControlError) -> [Element] {
        guard let value = self[key] else { return [] }
        return try [Element](json: value)
    }

    /// Returns the value whose raw value is the string member `key`; `unknown` if this version does
    /// not know it.
    func choice<Choice: RawRepresentable<String>>(_ key: String, unknown: Choice) -> Choice {
        self[key]?.stringValue.flatMap(Choice.init(rawValue:)) ?? unknown
    }

    /// Returns an object of the members that are not nil.
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

    /// The value true, or nil, so that false is left out of an object.
    var ifTrue: JSON? { self ? .boolean(true) : nil }
}

extension Double {
    var asJSON: JSON { .number(self) }
}

extension [String] {
    var asJSON: JSON { .array(map(JSON.string)) }

    /// The array, or nil if it is empty, so that it is left out of an object.
    var ifAny: JSON? { isEmpty ? nil : asJSON }
}

extension [Int] {
    /// The array, or nil if it is empty, so that it is left out of an object.
    var ifAny: JSON? { isEmpty ? nil : .array(map(\.asJSON)) }
}
