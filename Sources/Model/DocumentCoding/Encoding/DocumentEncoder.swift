package import DocumentModel

/// Encodes models as the fields of documents.
///
/// A property that is nil is left out. An array directly within an array, a number above the
/// greatest `Int64`, and a model that is not a map are refused, as by Firestore.
package struct DocumentEncoder: Sendable {
    private let context: CodingContext

    package init(context: CodingContext = CodingContext()) { self.context = context }

    /// Returns the fields of a model.
    ///
    /// - Throws: `EncodingError`, whose path names the property.
    package func encode(_ model: some Encodable) throws -> EncodedModel {
        let root = EncodingNode(path: nil, context: context)
        try root.encode(model)
        var result = EncodedModel()
        switch try root.value(at: [], in: &result.commitTimes) {
        case .map(let fields)?: result.fields = fields
        default:
            throw EncodingError.invalidValue(
                model,
                EncodingError.Context(
                    codingPath: [], debugDescription: "A document needs named fields, which this value has not."))
        }
        return result
    }

    /// Returns the form of a single value; nil if the value is nil.
    ///
    /// - Throws: `EncodingError`; also for a time of the commit within a map or an array.
    package func encode(value: some Encodable) throws -> EncodedValue? {
        let root = EncodingNode(path: nil, context: context)
        try root.encode(value)
        if root.isCommitTime { return .commitTime }
        var times: [FieldPath] = []
        let result = try root.value(at: [], in: &times)
        guard times.isEmpty else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [], debugDescription: "The time of the commit can only be set as a field of its own."))
        }
        return result.map { .value($0) }
    }
}

/// The content of a document as a model has it.
package struct EncodedModel: Sendable, Hashable {
    /// The fields, without those that the remote sets.
    package var fields: [String: Value] = [:]
    /// The fields that the remote sets to the time of the commit.
    package var commitTimes: [FieldPath] = []

    package init() {}
}

/// A value that is being encoded.
final class EncodingNode {
    private enum Content {
        case empty
        case value(Value)
        case commitTime
        case map([String: EncodingNode])
        case array([EncodingNode])
    }

    private var content = Content.empty
    let path: CodingPathNode?
    let context: CodingContext
    private let isInArray: Bool

    init(path: CodingPathNode?, context: CodingContext, isInArray: Bool = false) {
        self.path = path
        self.context = context
        self.isInArray = isInArray
    }

    var isCommitTime: Bool { if case .commitTime = content { true } else { false } }

    // MARK: Building

    func set(_ value: Value) { content = .value(value) }

    func becomeMap() {
        if case .map = content { return }
        content = .map([:])
    }

    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    func child(_ key: any CodingKey) throws -> EncodingNode {
        let node = CodingPathNode(key, in: path)
        guard !key.stringValue.isEmpty else { throw refusal("", node, "A field needs a name.") }
        let child = EncodingNode(path: node, context: context)
        guard case .map(var children) = content else { return child }
        content = .empty
        children[key.stringValue] = child
        content = .map(children)
        return child
    }

    func removeChild(_ key: any CodingKey) {
        guard case .map(var children) = content else { return }
        children[key.stringValue] = nil
        content = .map(children)
    }

    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    func appended() -> EncodingNode {
        let node = CodingPathNode(PlainKey(intValue: count), in: path)
        let element = EncodingNode(path: node, context: context, isInArray: true)
        guard case .array(var elements) = content else { return element }
        content = .empty
        elements.append(element)
        content = .array(elements)
        return element
    }

    func encode(_ value: some Encodable) throws {
        if let special = value as? any ValueCodable {
            do {
                switch try special.encoded(in: context) {
                case .value(let value): content = .value(value)
                case .commitTime: content = .commitTime
                }
            } catch let error as ValueMismatch {
                throw refusal(value, path, error.message)
            }
            return
        }
        try value.encode(to: ValueEncoder(node: self))
        // A type that encodes nothing is an empty map, except for nil.
        if case .empty = content, !(value is any OptionalValue) { content = .map([:]) }
    }

    func encode<T: FixedWidthInteger>(integer value: T) throws {
        guard let number = Int64(exactly: value) else {
            throw refusal(value, path, "The number is greater than the greatest Int64.")
        }
        set(.integer(number))
    }

    // MARK: The result

    /// Returns the value; nil for none, or for one that the remote sets.
    func value(at place: [String], in commitTimes: inout [FieldPath]) throws -> Value? {
        switch content {
        case .empty: return nil
        case .value(let value): return value
        case .commitTime:
            guard !place.isEmpty else { return nil }
            guard let field = try? FieldPath(place) else {
                throw refusal(place, path, "The time of the commit cannot be set in an array.")
            }
            commitTimes.append(field)
            return nil
        case .map(let children):
            var map: [String: Value] = [:]
            for (key, child) in children {
                // A place that ends with an empty name is in an array, where no field has a path.
                let isPlain = place.last != ""
                map[key] = try child.value(at: isPlain ? place + [key] : place, in: &commitTimes)
            }
            return .map(map)
        case .array(let elements):
            if isInArray { throw refusal(elements.count, path, "An array cannot contain another array.") }
            return .array(try elements.map { try $0.value(at: place + [""], in: &commitTimes) ?? .null })
        }
    }

    private func refusal(_ value: Any, _ path: CodingPathNode?, _ message: String) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path?.keys ?? [], debugDescription: message))
    }
}

/// Recognizes optional values.
private protocol OptionalValue {}
extension Optional: OptionalValue {}

/// Encodes into one node.
struct ValueEncoder: Encoder {
    let node: EncodingNode

    var codingPath: [any CodingKey] { node.path?.keys ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeMap()
        return KeyedEncodingContainer(KeyedNodeContainer(node: node))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeArray()
        return UnkeyedNodeContainer(node: node)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleNodeContainer(node: node) }
}
