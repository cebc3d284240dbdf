package import DocumentModel

/// A type with a form of its own in documents, which differs from the one that `Codable` gives it.
///
/// A date, for example, is a timestamp in a document and a number for `Codable`.
package protocol ValueCodable {
    /// Returns the value that a document contains.
    ///
    /// - Throws: `ValueMismatch` if `value` is of another type.
    static func decoded(from value: Value, in context: CodingContext) throws -> Self

    /// Returns the form of the value in documents.
    ///
    /// - Throws: `ValueMismatch` if there is none.
    func encoded(in context: CodingContext) throws -> EncodedValue

    /// Two values that differ, with which `FieldNames` finds the fields of a model.
    static var examples: (Self, Self) { get }
}

/// The form of a value in a document.
package enum EncodedValue: Sendable, Hashable {
    case value(Value)
    /// The time of the commit, which the remote sets.
    case commitTime
}

/// The circumstances of coding.
package struct CodingContext: Sendable {
    /// The object that decoded references belong to; nil for none.
    package var owner: (any AnyObject & Sendable)?

    package init(owner: (any AnyObject & Sendable)? = nil) { self.owner = owner }
}

/// A value that does not fit the type to which it is to be converted.
package struct ValueMismatch: Error, CustomStringConvertible {
    package let message: String

    package init(_ message: String) { self.message = message }

    /// Creates the error that a value of another type was expected.
    package init(expected: String, found value: Value) {
        message = "Expected \(expected), found \(value.typeName)."
    }

    package var description: String { message }
}

extension Value {
    /// Whether the value is null; faster than a comparison with it.
    var isNull: Bool { if case .null = self { true } else { false } }

    /// The name of the value's type with an article, for messages.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .boolean: "a Boolean"
        case .integer: "an integer"
        case .double: "a double"
        case .timestamp: "a timestamp"
        case .string: "a string"
        case .bytes: "bytes"
        case .reference: "a reference"
        case .geoPoint: "a point"
        case .array: "an array"
        case .map: "a map"
        }
    }
}
