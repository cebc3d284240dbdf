import DocumentModel

/// The entries of a map.
struct KeyedValueContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: [String: Value]
    let path: CodingPathNode?
    let context: CodingContext

    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0) } }

    private func node(_ key: Key) -> CodingPathNode { CodingPathNode(key, in: path) }

    private func value(_ key: Key) throws -> Value {
        guard let value = fields[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: "There is no field of this name."))
        }
        return value
    }

    /// The value of a key; nil if it is absent or null.
    private func present(_ key: Key) -> Value? {
        guard let value = fields[key.stringValue], !value.isNull else { return nil }
        return value
    }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try ValueDecoder.decode(type, from: value(key), at: node(key), in: context)
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        // Null is a value for types that give it a meaning, such as a pending time.
        guard let value = fields[key.stringValue] else { return nil }
        if value.isNull, !(type is any NullDecodable.Type) { return nil }
        return try ValueDecoder.decode(type, from: value, at: node(key), in: context)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try ValueDecoder.boolean(value(key), node(key))
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try ValueDecoder.string(value(key), node(key))
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try ValueDecoder.double(value(key), node(key))
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        Float(try ValueDecoder.double(value(key), node(key)))
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map { try ValueDecoder.boolean($0, node(key)) }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try present(key).map { try ValueDecoder.string($0, node(key)) }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try ValueDecoder.double($0, node(key)) }
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try present(key).map { Float(try ValueDecoder.double($0, node(key))) }
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try ValueDecoder.integer(type, value(key), node(key))
    }

    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try present(key).map { try ValueDecoder.integer(type, $0, node(key)) }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { ValueDecoder(value: .map(fields), path: path, context: context) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }

    private func nested(_ key: Key) throws -> ValueDecoder {
        ValueDecoder(value: try value(key), path: node(key), context: context)
    }
}

/// A type for which null is a value.
package protocol NullDecodable {}
