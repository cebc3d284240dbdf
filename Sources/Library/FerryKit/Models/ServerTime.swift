package import DocumentCoding
package import DocumentModel
public import FoundationEssentials

/// A time that the server sets: that of the commit with which the field was written.
///
/// A model that is saved with `pending` gets the time of the commit. Until the server has it, the
/// field reads as `pending`, offline too.
public enum ServerTime: Codable, Hashable, Comparable, Sendable {
    /// The time of the commit, which has not happened yet.
    case pending
    /// The time that the server has set.
    case resolved(Date)

    /// The time; nil while it is pending.
    public var date: Date? { if case .resolved(let date) = self { date } else { nil } }

    /// Orders times from earlier to later. A pending time is later than all others, as in queries.
    public static func < (left: ServerTime, right: ServerTime) -> Bool {
        switch (left, right) {
        case (.resolved(let a), .resolved(let b)): a < b
        case (.resolved, .pending): true
        case (.pending, _): false
        }
    }

    /// Decodes a date or nil.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .pending : .resolved(try container.decode(Date.self))
    }

    /// Encodes the date, or nil while it is pending.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let date { try container.encode(date) } else { try container.encodeNil() }
    }
}

extension ServerTime: ValueCodable, NullDecodable {
    package static func decoded(from value: Value, in context: CodingContext) throws -> ServerTime {
        value == .null ? .pending : .resolved(try Date.decoded(from: value, in: context))
    }

    package func encoded(in context: CodingContext) throws -> EncodedValue {
        try date?.encoded(in: context) ?? .commitTime
    }

    package static var examples: (ServerTime, ServerTime) {
        (.resolved(Date.examples.0), .resolved(Date.examples.1))
    }
}

/// A property that is stored as null when it is nil, instead of being left out.
///
/// Only such fields are found by a query with `== nil`.
@propertyWrapper public struct ExplicitNull<Value: Codable & Sendable>: Codable, Sendable {
    /// The value.
    public var wrappedValue: Value?

    /// Creates a property.
    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    /// Decodes a value or null.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    /// Encodes the value, or null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

extension ExplicitNull: Equatable where Value: Equatable {}
extension ExplicitNull: Hashable where Value: Hashable {}
