/// A JSON value (RFC 8259). Integers keep 64 bits; objects keep the order of their members.
///
/// Written here because Foundation's coders take 50 to 60 ms for the 1 MB of JSON that describes
/// 10,000 tasks, and `ferry list` has a budget of 50 ms in total.
package enum JSON: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

/// The members of a JSON object, in the order in which they were written.
///
/// The parser refuses an object with a duplicate key.
package struct JSONObject: Sendable, Hashable, ExpressibleByDictionaryLiteral, Sequence {
    package private(set) var members: [(key: String, value: JSON)] = []

    package init() {}

    /// Creates an object from a literal. A later pair replaces an earlier pair with the same key.
    package init(dictionaryLiteral elements: (String, JSON)...) {
        for (key, value) in elements { self[key] = value }
    }

    /// Creates an object from members whose keys are known to be unique.
    init(unique members: [(key: String, value: JSON)]) {
        self.members = members
    }

    /// Accesses the value for a key. Setting nil removes the member.
    ///
    /// The search is linear in the number of members.
    package subscript(key: String) -> JSON? {
        get { members.first { $0.key == key }?.value }
        set {
            if let index = members.firstIndex(where: { $0.key == key }) {
                if let newValue { members[index].value = newValue } else { members.remove(at: index) }
            } else if let newValue {
                members.append((key, newValue))
            }
        }
    }

    package var keys: [String] { members.map(\.key) }

    package func makeIterator() -> IndexingIterator<[(key: String, value: JSON)]> { members.makeIterator() }

    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.count == right.members.count && left.members.allSatisfy { right[$0.key] == $0.value }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(members.count)
    }
}

extension JSON {
    package var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    package var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
    package var arrayValue: [JSON]? { if case .array(let value) = self { value } else { nil } }
    package var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }
    package var isNull: Bool { self == .null }

    /// The value as a 64-bit integer: an integer, or a floating-point number without a fraction
    /// that fits.
    package var integerValue: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    package var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The value of an object's member; nil if there is none or if this is not an object.
    package subscript(key: String) -> JSON? { objectValue?[key] }

    /// The element of an array; nil if the index is out of bounds or if this is not an array.
    package subscript(index: Int) -> JSON? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }

    package init(dictionaryLiteral elements: (String, JSON)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
}
