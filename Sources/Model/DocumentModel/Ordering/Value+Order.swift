/// Firestore's total order of values: by type, then within the type.
///
/// null · boolean · NaN · number (integers and doubles by exact value, −0 = 0) · timestamp · string
/// (UTF-8 bytes) · bytes · reference (segment by segment, numeric ids first) · geopoint · array ·
/// vector (dimension, then elements) · map.
extension Value {
    /// Returns a negative number, zero or a positive number if `left` sorts before, with or after
    /// `right`.
    ///
    /// Zero means equality in queries: 3 and 3.0 are equal.
    public static func compare(_ left: Value, _ right: Value) -> Int {
        switch (left, right) {
        case (.string(let a), .string(let b)): return UTF8Order.compare(a, b)
        case (.integer(let a), .integer(let b)): return order(a, b)
        case (.timestamp(let a), .timestamp(let b)): return order(a.microseconds, b.microseconds)
        default: break
        }
        let (leftClass, rightClass) = (left.typeClass, right.typeClass)
        guard leftClass == rightClass else { return order(leftClass.rawValue, rightClass.rawValue) }
        switch (left, right) {
        case (.boolean(let a), .boolean(let b)): return order(a ? 1 : 0, b ? 1 : 0)
        case (.double(let a), .double(let b)): return Number.compare(a, b)
        case (.integer(let a), .double(let b)): return Number.compare(a, b)
        case (.double(let a), .integer(let b)): return -Number.compare(b, a)
        case (.bytes(let a), .bytes(let b)): return UTF8Order.compare(a, b)
        case (.reference(let a), .reference(let b)): return PathOrder.compare(a, b)
        case (.geoPoint(let a), .geoPoint(let b)):
            let latitudes = Number.compare(a.latitude, b.latitude)
            return latitudes != 0 ? latitudes : Number.compare(a.longitude, b.longitude)
        case (.array(let a), .array(let b)): return compare(a, b)
        case (.map(let a), .map(let b)):
            if leftClass == .vector, let first = left.vectorElements, let second = right.vectorElements {
                return first.count != second.count ? order(first.count, second.count) : compare(first, second)
            }
            return compare(a, b)
        default: return 0
        }
    }

    /// Returns whether two values are equal in filters and array transforms. The operator `==` is
    /// stricter.
    ///
    /// Numbers are compared by exact value, −0 equals 0, NaN equals NaN, and the order of map
    /// entries does not matter.
    public func isEqual(to other: Value) -> Bool { Value.compare(self, other) == 0 }

    /// Whether this is a double that is NaN.
    public var isNaN: Bool { if case .double(let value) = self { value.isNaN } else { false } }

    /// The elements of a vector, which is stored as the map `{__type__: "__vector__", value:
    /// [number …]}`; nil for any other value.
    public var vectorElements: [Value]? {
        guard case .map(let fields) = self, fields.count == 2, case .string("__vector__")? = fields["__type__"],
            case .array(let elements)? = fields["value"]
        else { return nil }
        let areNumbers = elements.allSatisfy { $0.typeClass == .number || $0.typeClass == .nan }
        return areNumbers ? elements : nil
    }

    private static func compare(_ left: [Value], _ right: [Value]) -> Int {
        for (a, b) in zip(left, right) {
            let answer = compare(a, b)
            if answer != 0 { return answer }
        }
        return order(left.count, right.count)
    }

    private static func compare(_ left: [String: Value], _ right: [String: Value]) -> Int {
        let first = left.sorted { UTF8Order.precedes($0.key, $1.key) }
        let second = right.sorted { UTF8Order.precedes($0.key, $1.key) }
        for (a, b) in zip(first, second) {
            let keys = UTF8Order.compare(a.key, b.key)
            if keys != 0 { return keys }
            let values = compare(a.value, b.value)
            if values != 0 { return values }
        }
        return order(first.count, second.count)
    }
}

/// The steps of the total order that correspond to types. A range filter compares values of one
/// class only.
package enum TypeClass: UInt8, Sendable, CaseIterable {
    // Values below 0x10 are markers of `OrderingKey`.
    case null = 0x10
    case boolean = 0x18
    case nan = 0x20
    case number = 0x28
    case timestamp = 0x30
    case string = 0x38
    case bytes = 0x40
    case reference = 0x48
    case geoPoint = 0x50
    case array = 0x58
    case vector = 0x60
    case map = 0x68
}

extension Value {
    package var typeClass: TypeClass {
        switch self {
        case .null: .null
        case .boolean: .boolean
        case .integer: .number
        case .double(let value): value.isNaN ? .nan : .number
        case .timestamp: .timestamp
        case .string: .string
        case .bytes: .bytes
        case .reference: .reference
        case .geoPoint: .geoPoint
        case .array: .array
        case .map: vectorElements == nil ? .map : .vector
        }
    }
}

/// Returns −1, 0 or 1.
func order<Key: Comparable>(_ left: Key, _ right: Key) -> Int { left < right ? -1 : left > right ? 1 : 0 }
