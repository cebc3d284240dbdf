import DocumentCoding
import DocumentModel

/// The fields of a model, in conditions.
@dynamicMemberLookup public struct Fields<Model: DocumentModel> {
    init() {}

    /// The field of a property.
    public subscript<Content>(
        dynamicMember field: any KeyPath<Model, Content> & Sendable
    ) -> Field<Model, Content> {
        Field(path: Result { try FieldNames.path(of: field) })
    }
}

/// A field of a model, which can be compared with values of its type.
@dynamicMemberLookup public struct Field<Model: DocumentModel, Content>: Sendable {
    let path: Result<FieldPath, any Error>

    /// The field of a property of a nested structure.
    public subscript<Inner>(
        dynamicMember field: any KeyPath<Content, Inner> & Sendable
    ) -> Field<Model, Inner> {
        below { try FieldNames.path(of: field) }
    }

    /// The field of a property of a nested structure that may be absent.
    public subscript<Inner, Structure>(
        dynamicMember field: any KeyPath<Structure, Inner> & Sendable
    ) -> Field<Model, Inner> where Content == Structure? {
        below { try FieldNames.path(of: field) }
    }

    /// The entry of a dictionary.
    public subscript<Element>(key: String) -> Field<Model, Element> where Content == [String: Element] {
        below { FieldPath(key: key) }
    }

    private func below<Inner>(_ inner: () throws -> FieldPath) -> Field<Model, Inner> {
        Field<Model, Inner>(path: Result { try inner().segments.reduce(path.get()) { $0.appending($1) } })
    }

    func condition(
        _ comparison: DatabaseQuery.FieldOperator, _ value: some Encodable
    ) -> Condition<Model> {
        Condition(filter: Result { try Self.filter(path.get(), comparison, Self.encode(value)) })
    }

    func condition<Element: Encodable>(
        _ comparison: DatabaseQuery.FieldOperator, anyOf values: [Element]
    ) -> Condition<Model> {
        Condition(
            filter: Result {
                .field(try path.get(), comparison, .array(try values.map { try Self.encode($0) }))
            })
    }

    private static func encode(_ value: some Encodable) throws -> Value {
        switch try DocumentEncoder().encode(value: value) {
        case .value(let value)?: return value
        case nil: return .null
        case .commitTime?:
            throw FerryError(.invalid, "A condition compares with a time that is known, not with a pending one.")
        }
    }

    /// Returns the filter for a comparison. Null and NaN have operators of their own.
    private static func filter(
        _ path: FieldPath, _ comparison: DatabaseQuery.FieldOperator, _ value: Value
    ) -> DatabaseQuery.Filter {
        switch (comparison, value) {
        case (.equal, .null): .unary(path, .isNull)
        case (.notEqual, .null): .unary(path, .isNotNull)
        case (.equal, .double(let number)) where number.isNaN: .unary(path, .isNaN)
        case (.notEqual, .double(let number)) where number.isNaN: .unary(path, .isNotNaN)
        default: .field(path, comparison, value)
        }
    }
}

extension Field where Content: Equatable & Encodable {
    /// Whether the field has a value. A comparison with nil finds fields that are stored as null;
    /// see `ExplicitNull`.
    public static func == (field: Self, value: Content) -> Condition<Model> { field.condition(.equal, value) }

    /// Whether the field exists with another value.
    public static func != (field: Self, value: Content) -> Condition<Model> { field.condition(.notEqual, value) }

    /// Whether the field has one of at most 30 values.
    public func isIn(_ values: [Content]) -> Condition<Model> { condition(.in, anyOf: values) }

    /// Whether the field exists with none of at most 10 values.
    public func isNotIn(_ values: [Content]) -> Condition<Model> { condition(.notIn, anyOf: values) }
}

extension Field where Content: Comparable & Encodable {
    /// Whether the field is less than a value.
    public static func < (field: Self, value: Content) -> Condition<Model> { field.condition(.lessThan, value) }

    /// Whether the field is at most a value.
    public static func <= (field: Self, value: Content) -> Condition<Model> {
        field.condition(.lessThanOrEqual, value)
    }

    /// Whether the field is greater than a value.
    public static func > (field: Self, value: Content) -> Condition<Model> { field.condition(.greaterThan, value) }

    /// Whether the field is at least a value.
    public static func >= (field: Self, value: Content) -> Condition<Model> {
        field.condition(.greaterThanOrEqual, value)
    }

    /// Whether the field is in a range.
    public static func ~= (range: Range<Content>, field: Self) -> Condition<Model> {
        field >= range.lowerBound && field < range.upperBound
    }

    /// Whether the field is in a closed range.
    public static func ~= (range: ClosedRange<Content>, field: Self) -> Condition<Model> {
        field >= range.lowerBound && field <= range.upperBound
    }
}

extension Field {
    /// Whether the field exists and is less than a value.
    public static func < <Wrapped: Comparable & Encodable>(
        field: Self, value: Wrapped
    ) -> Condition<Model> where Content == Wrapped? {
        field.condition(.lessThan, value)
    }

    /// Whether the field exists and is at most a value.
    public static func <= <Wrapped: Comparable & Encodable>(
        field: Self, value: Wrapped
    ) -> Condition<Model> where Content == Wrapped? {
        field.condition(.lessThanOrEqual, value)
    }

    /// Whether the field exists and is greater than a value.
    public static func > <Wrapped: Comparable & Encodable>(
        field: Self, value: Wrapped
    ) -> Condition<Model> where Content == Wrapped? {
        field.condition(.greaterThan, value)
    }

    /// Whether the field exists and is at least a value.
    public static func >= <Wrapped: Comparable & Encodable>(
        field: Self, value: Wrapped
    ) -> Condition<Model> where Content == Wrapped? {
        field.condition(.greaterThanOrEqual, value)
    }
}

extension Field where Content: Sequence, Content.Element: Encodable {
    /// Whether the array contains an element.
    public func contains(_ element: Content.Element) -> Condition<Model> { condition(.arrayContains, element) }

    /// Whether the array contains one of at most 30 elements.
    public func containsAny(of elements: [Content.Element]) -> Condition<Model> {
        condition(.arrayContainsAny, anyOf: elements)
    }
}

/// A condition that documents of a query satisfy.
public struct Condition<Model: DocumentModel>: Sendable {
    let filter: Result<DatabaseQuery.Filter, any Error>

    /// Whether both conditions hold.
    public static func && (left: Self, right: @autoclosure () -> Self) -> Self {
        let right = right()
        return Condition(
            filter: Result {
                switch (try left.filter.get(), try right.filter.get()) {
                case (.and(let a), .and(let b)): .and(a + b)
                case (.and(let a), let b): .and(a + [b])
                case (let a, .and(let b)): .and([a] + b)
                case (let a, let b): .and([a, b])
                }
            })
    }

    /// Whether one of the conditions holds.
    public static func || (left: Self, right: @autoclosure () -> Self) -> Self {
        let right = right()
        return Condition(
            filter: Result {
                switch (try left.filter.get(), try right.filter.get()) {
                case (.or(let a), .or(let b)): .or(a + b)
                case (.or(let a), let b): .or(a + [b])
                case (let a, .or(let b)): .or([a] + b)
                case (let a, let b): .or([a, b])
                }
            })
    }
}
