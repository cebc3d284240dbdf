import DocumentModel

extension ValueEncoder {
    /// Encodes into the entries of a map.
    struct KeyedNodeContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let node: EncodingNode

        var codingPath: [any CodingKey] { node.path?.keys ?? [] }

        func encodeNil(forKey key: Key) throws { try node.child(key).set(.null) }
        func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try node.child(key).encode(value) }
        func encode(_ value: Bool, forKey key: Key) throws { try node.child(key).set(.boolean(value)) }
        func encode(_ value: String, forKey key: Key) throws { try node.child(key).set(.string(value)) }
        func encode(_ value: Double, forKey key: Key) throws { try node.child(key).set(.double(value)) }
        func encode(_ value: Float, forKey key: Key) throws { try node.child(key).set(.double(Double(value))) }
        func encode(_ value: Int, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: Int8, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: Int16, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: Int32, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: Int64, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: UInt, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: UInt8, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: UInt16, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: UInt32, forKey key: Key) throws { try node.child(key).encode(integer: value) }
        func encode(_ value: UInt64, forKey key: Key) throws { try node.child(key).encode(integer: value) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            ValueEncoder(node: child(key)).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            ValueEncoder(node: child(key)).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { ValueEncoder(node: node) }
        func superEncoder(forKey key: Key) -> any Encoder { ValueEncoder(node: child(key)) }

        private func child(_ key: Key) -> EncodingNode {
            // These calls cannot throw. A key without a name writes to a node that belongs to nothing.
            (try? node.child(key)) ?? EncodingNode(path: node.path, context: node.context)
        }
    }

    /// Encodes the elements of an array.
    struct UnkeyedNodeContainer: UnkeyedEncodingContainer {
        let node: EncodingNode

        var codingPath: [any CodingKey] { node.path?.keys ?? [] }
        var count: Int { node.count }

        func encodeNil() throws { node.appended().set(.null) }
        func encode<T: Encodable>(_ value: T) throws { try node.appended().encode(value) }
        func encode(_ value: Bool) throws { node.appended().set(.boolean(value)) }
        func encode(_ value: String) throws { node.appended().set(.string(value)) }
        func encode(_ value: Double) throws { node.appended().set(.double(value)) }
        func encode(_ value: Float) throws { node.appended().set(.double(Double(value))) }
        func encode(_ value: Int) throws { try node.appended().encode(integer: value) }
        func encode(_ value: Int8) throws { try node.appended().encode(integer: value) }
        func encode(_ value: Int16) throws { try node.appended().encode(integer: value) }
        func encode(_ value: Int32) throws { try node.appended().encode(integer: value) }
        func encode(_ value: Int64) throws { try node.appended().encode(integer: value) }
        func encode(_ value: UInt) throws { try node.appended().encode(integer: value) }
        func encode(_ value: UInt8) throws { try node.appended().encode(integer: value) }
        func encode(_ value: UInt16) throws { try node.appended().encode(integer: value) }
        func encode(_ value: UInt32) throws { try node.appended().encode(integer: value) }
        func encode(_ value: UInt64) throws { try node.appended().encode(integer: value) }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            ValueEncoder(node: node.appended()).container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            ValueEncoder(node: node.appended()).unkeyedContainer()
        }

        func superEncoder() -> any Encoder { ValueEncoder(node: node.appended()) }
    }

    /// Encodes a value of its own.
    struct SingleNodeContainer: SingleValueEncodingContainer {
        let node: EncodingNode

        var codingPath: [any CodingKey] { node.path?.keys ?? [] }

        func encodeNil() throws { node.set(.null) }
        func encode<T: Encodable>(_ value: T) throws { try node.encode(value) }
        func encode(_ value: Bool) throws { node.set(.boolean(value)) }
        func encode(_ value: String) throws { node.set(.string(value)) }
        func encode(_ value: Double) throws { node.set(.double(value)) }
        func encode(_ value: Float) throws { node.set(.double(Double(value))) }
        func encode(_ value: Int) throws { try node.encode(integer: value) }
        func encode(_ value: Int8) throws { try node.encode(integer: value) }
        func encode(_ value: Int16) throws { try node.encode(integer: value) }
        func encode(_ value: Int32) throws { try node.encode(integer: value) }
        func encode(_ value: Int64) throws { try node.encode(integer: value) }
        func encode(_ value: UInt) throws { try node.encode(integer: value) }
        func encode(_ value: UInt8) throws { try node.encode(integer: value) }
        func encode(_ value: UInt16) throws { try node.encode(integer: value) }
        func encode(_ value: UInt32) throws { try node.encode(integer: value) }
        func encode(_ value: UInt64) throws { try node.encode(integer: value) }
    }
}
