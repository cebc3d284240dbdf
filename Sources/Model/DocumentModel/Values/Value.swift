/// A value of a document's field: the types of `google.firestore.v1.Value` that can be stored.
///
/// `==` and hashing are strict and decide whether stored content is the same: the type counts (3 is
/// not 3.0), NaN equals NaN, and −0.0 differs from 0.0. Queries and array transforms use the looser
/// `isEqual(to:)`, and ordering uses `compare`.
public enum Value: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case timestamp(Timestamp)
    case string(String)
    case bytes([UInt8])
    /// A document's full resource name, kept as sent, so that a reference into another database is
    /// preserved.
    case reference(String)
    case geoPoint(GeoPoint)
    case array([Value])
    case map([String: Value])

    /// Returns whether two values are the same stored content.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN)
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.string(let a), .string(let b)), (.reference(let a), .reference(let b)): UTF8Order.areEqual(a, b)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.geoPoint(let a), .geoPoint(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.map(let a), .map(let b)): a == b
        default: false
        }
    }

    /// Hashes consistently with `==`.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .boolean(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.isNaN ? Double.nan.bitPattern : value.bitPattern)
        case .timestamp(let value): hasher.combine(value)
        case .string(let value), .reference(let value): UTF8Order.hash(value, into: &hasher)
        case .bytes(let value): hasher.combine(value)
        case .geoPoint(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value)
        }
    }
}

/// A point on the earth in degrees.
public struct GeoPoint: Codable, Sendable, Hashable {
    /// The latitude, from −90 to 90.
    public var latitude: Double
    /// The longitude, from −180 to 180.
    public var longitude: Double

    /// Creates a point without checking its range.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

extension Value {
    /// The string; nil for another type.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The Boolean; nil for another type.
    public var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The integer; nil for another type.
    public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }
    /// The double; nil for another type.
    public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
    /// The bytes; nil for another type.
    public var bytesValue: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    /// The resource name of a reference; nil for another type.
    public var referenceValue: String? { if case .reference(let value) = self { value } else { nil } }
    /// The point; nil for another type.
    public var geoPointValue: GeoPoint? { if case .geoPoint(let value) = self { value } else { nil } }
    /// The timestamp; nil for another type.
    public var timestampValue: Timestamp? { if case .timestamp(let value) = self { value } else { nil } }
    /// The elements of an array; nil for another type.
    public var arrayValue: [Value]? { if case .array(let value) = self { value } else { nil } }
    /// The entries of a map; nil for another type.
    public var mapValue: [String: Value]? { if case .map(let value) = self { value } else { nil } }
}
