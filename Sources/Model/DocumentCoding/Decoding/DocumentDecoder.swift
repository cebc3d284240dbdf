package import DocumentModel

/// Decodes models from the fields of documents.
package struct DocumentDecoder: Sendable {
    private let context: CodingContext

    package init(context: CodingContext = CodingContext()) { self.context = context }

    /// Returns the model that a document's fields contain.
    ///
    /// - Throws: `DecodingError`, whose path names the property.
    package func decode<Model: Decodable>(_ type: Model.Type, from fields: [String: Value]) throws -> Model {
        try Model(from: ValueDecoder(value: .map(fields), path: nil, context: context))
    }

    /// Returns the value of the given type that a single field contains.
    package func decode<Content: Decodable>(_ type: Content.Type, from value: Value) throws -> Content {
        try ValueDecoder.decode(type, from: value, at: nil, in: context)
    }
}

/// Decodes one value.
struct ValueDecoder: Decoder {
    let value: Value
    let path: CodingPathNode?
    let context: CodingContext

    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .map(let fields) = value else { throw Self.mismatch([String: Value].self, "a map", value, path) }
        return KeyedDecodingContainer(KeyedValueContainer(fields: fields, path: path, context: context))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw Self.mismatch([Value].self, "an array", value, path) }
        return UnkeyedValueContainer(elements: elements, path: path, context: context)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueContainer(value: value, path: path, context: context)
    }

    // MARK: Values

    /// Returns the value as a type. Types with a form of their own are recognized here.
    static func decode<T: Decodable>(
        _ type: T.Type, from value: Value, at path: @autoclosure () -> CodingPathNode?, in context: CodingContext
    ) throws -> T {
        if type == [String].self, case .array(let elements) = value {
            if let texts = strings(elements) as? T { return texts }
        }
        if let special = type as? any ValueCodable.Type {
            do {
                if let result = try special.decoded(from: value, in: context) as? T { return result }
            } catch let error as ValueMismatch {
                throw DecodingError.typeMismatch(
                    type, DecodingError.Context(codingPath: path()?.keys ?? [], debugDescription: error.message))
            }
        }
        return try T(from: ValueDecoder(value: value, path: path(), context: context))
    }

    /// Returns the strings of an array; nil if it has another element.
    private static func strings(_ elements: [Value]) -> [String]? {
        var texts: [String] = []
        texts.reserveCapacity(elements.count)
        for case .string(let text) in elements { texts.append(text) }
        return texts.count == elements.count ? texts : nil
    }

    static func mismatch(
        _ type: any Any.Type, _ expected: String, _ value: Value, _ path: CodingPathNode?
    ) -> DecodingError {
        let message = "Expected \(expected), found \(value.typeName)."
        let context = DecodingError.Context(codingPath: path?.keys ?? [], debugDescription: message)
        return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    static func boolean(_ value: Value, _ path: @autoclosure () -> CodingPathNode?) throws -> Bool {
        guard case .boolean(let flag) = value else { throw mismatch(Bool.self, "a Boolean", value, path()) }
        return flag
    }

    static func string(_ value: Value, _ path: @autoclosure () -> CodingPathNode?) throws -> String {
        guard case .string(let text) = value else { throw mismatch(String.self, "a string", value, path()) }
        return text
    }

    /// Returns a number. An integer is a valid double, and a double without a fraction is a valid
    /// integer, because other programs do not distinguish them.
    static func double(_ value: Value, _ path: @autoclosure () -> CodingPathNode?) throws -> Double {
        switch value {
        case .double(let number): return number
        case .integer(let number): return Double(number)
        default: throw mismatch(Double.self, "a number", value, path())
        }
    }

    static func integer<T: FixedWidthInteger>(
        _ type: T.Type, _ value: Value, _ path: @autoclosure () -> CodingPathNode?
    ) throws -> T {
        let number: T? =
            switch value {
            case .integer(let number): T(exactly: number)
            case .double(let number): T(exactly: number)
            default: throw mismatch(type, "an integer", value, path())
            }
        guard let number else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: path()?.keys ?? [], debugDescription: "The number does not fit into \(type)."))
        }
        return number
    }
}
