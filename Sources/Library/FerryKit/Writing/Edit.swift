import DocumentCoding
import DocumentModel

/// Changes of fields of one document.
///
/// Fields are set, and cannot be read: a value that depends on another is computed by the server
/// (`increment`, `union`), in a transaction, or by editing and saving a `Document`.
@dynamicMemberLookup public struct Edit<Model: DocumentModel> {
    let storage: EditStorage

    init(encoder: DocumentEncoder) { storage = EditStorage(encoder: encoder) }

    /// The new value of a field. Nil removes the field.
    @_disfavoredOverload
    public subscript<Content: Encodable>(
        dynamicMember field: any WritableKeyPath<Model, Content> & Sendable
    ) -> Content {
        @available(
            *, unavailable,
            message: "An update sets fields without reading them. Use increment, union, a transaction, or save()."
        )
        get { fatalError("The getter is unavailable.") }
        nonmutating set { storage.set(newValue) { try FieldNames.path(of: field) } }
    }

    /// The fields of a nested structure, which are set one by one.
    public subscript<Content>(
        dynamicMember field: any WritableKeyPath<Model, Content> & Sendable
    ) -> NestedEdit<Content> {
        NestedEdit(storage: storage, path: Result { try FieldNames.path(of: field) })
    }

    /// Sets a field at any depth. `edit.detail.notes = text` reaches two levels, this method all.
    public func set<Content: Encodable>(
        _ field: any WritableKeyPath<Model, Content> & Sendable, to value: Content
    ) {
        storage.set(value) { try FieldNames.path(of: field) }
    }

    /// Removes a field.
    public mutating func remove<Content>(_ field: any KeyPath<Model, Content?> & Sendable) {
        storage.change { $0.changes.updateValue(nil, forKey: try FieldNames.path(of: field)) }
    }

    /// Adds a number to a field. Increments of several machines add up.
    public mutating func increment<Number: Numeric & Encodable>(
        _ field: any KeyPath<Model, Number> & Sendable, by amount: Number
    ) {
        transform(field) { .increment(try storage.value(amount)) }
    }

    /// Raises a number to at least a value.
    public mutating func raise<Number: Numeric & Encodable>(
        _ field: any KeyPath<Model, Number> & Sendable, toAtLeast value: Number
    ) {
        transform(field) { .maximum(try storage.value(value)) }
    }

    /// Lowers a number to at most a value.
    public mutating func lower<Number: Numeric & Encodable>(
        _ field: any KeyPath<Model, Number> & Sendable, toAtMost value: Number
    ) {
        transform(field) { .minimum(try storage.value(value)) }
    }

    /// Adds elements to an array that it does not contain.
    public mutating func union<Element: Encodable>(
        _ field: any KeyPath<Model, [Element]> & Sendable, _ elements: [Element]
    ) {
        transform(field) { .appendMissingElements(try elements.map { try storage.value($0) }) }
    }

    /// Removes elements from an array.
    public mutating func subtract<Element: Encodable>(
        _ field: any KeyPath<Model, [Element]> & Sendable, _ elements: [Element]
    ) {
        transform(field) { .removeAllFromArray(try elements.map { try storage.value($0) }) }
    }

    /// Sets a field to the time of the commit.
    public mutating func stamp(_ field: any KeyPath<Model, ServerTime> & Sendable) {
        transform(field) { .serverTimestamp }
    }

    private func transform<Content>(
        _ field: any KeyPath<Model, Content> & Sendable, _ operation: () throws -> FieldTransform.Operation
    ) {
        storage.change {
            $0.transforms.append(FieldTransform(try FieldNames.path(of: field), try operation()))
        }
    }
}

/// Changes of the fields of a nested structure.
@dynamicMemberLookup public struct NestedEdit<Structure> {
    let storage: EditStorage
    let path: Result<FieldPath, any Error>

    /// The new value of a field. Nil removes the field.
    public subscript<Content: Encodable>(
        dynamicMember field: any WritableKeyPath<Structure, Content> & Sendable
    ) -> Content {
        @available(
            *, unavailable,
            message: "An update sets fields without reading them. Use increment, union, a transaction, or save()."
        )
        get { fatalError("The getter is unavailable.") }
        nonmutating set { storage.set(newValue) { try below(field) } }
    }

    /// The fields of a structure in this one.
    public subscript<Content>(
        dynamicMember field: any WritableKeyPath<Structure, Content> & Sendable
    ) -> NestedEdit<Content> {
        NestedEdit<Content>(storage: storage, path: Result { try below(field) })
    }

    private func below<Content>(_ field: any KeyPath<Structure, Content> & Sendable) throws -> FieldPath {
        try FieldNames.path(of: field).segments.reduce(path.get()) { $0.appending($1) }
    }
}

/// The changes that an edit collects.
final class EditStorage {
    private let encoder: DocumentEncoder
    fileprivate(set) var changes: [FieldPath: Value?] = [:]
    fileprivate(set) var transforms: [FieldTransform] = []
    private(set) var problem: (any Error)?

    init(encoder: DocumentEncoder) { self.encoder = encoder }

    func change(_ body: (EditStorage) throws -> Void) {
        do { try body(self) } catch { problem = problem ?? error }
    }

    func set(_ value: some Encodable, at path: () throws -> FieldPath) {
        change { _ in
            let path = try path()
            switch try encoder.encode(value: value) {
            case .value(let value)?: changes.updateValue(value, forKey: path)
            case nil: changes.updateValue(nil, forKey: path)
            case .commitTime?: transforms.append(FieldTransform(path, .serverTimestamp))
            }
        }
    }

    func value(_ operand: some Encodable) throws -> Value {
        guard case .value(let value)? = try encoder.encode(value: operand) else {
            throw FerryError(.invalid, "The operand of a change cannot be nil or a pending time.")
        }
        return value
    }
}
