public import DocumentCoding

/// A point on the earth in degrees.
public typealias GeoPoint = GeographicPoint

/// A type that supplies examples of itself, from which the names of fields are found.
///
/// Only enumerations with associated values and types with an `init(from:)` that accepts few values
/// need it.
public typealias FieldExamples = DocumentCoding.FieldExamples
