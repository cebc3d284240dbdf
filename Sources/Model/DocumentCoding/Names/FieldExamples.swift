/// A type that supplies examples of itself, from which the names of fields are found.
///
/// Only types of which no example can be made otherwise need it: enumerations with associated
/// values, and types whose `init(from:)` accepts few values. A model with such a property is told so
/// when one of its key paths is used for the first time.
public protocol FieldExamples {
    /// Two values that differ when they are encoded.
    static var fieldExamples: (Self, Self) { get }
}
