import DocumentModel

/// A value of its own.
struct SingleValueContainer: SingleValueDecodingContainer {
    let value: Value
    let path: CodingPathNode?
    let context: CodingContext

    var codingPath: [any CodingKey] { path?.keys ?? [] }

    func decodeNil() -> Bool { value.isNull }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try ValueDecoder.decode(type, from: value, at: path, in: context)
    }
    func decode(_ type: Bool.Type) throws -> Bool { try ValueDecoder.boolean(value, path) }
    func decode(_ type: String.Type) throws -> String { try ValueDecoder.string(value, path) }
    func decode(_ type: Double.Type) throws -> Double { try ValueDecoder.double(value, path) }
    func decode(_ type: Float.Type) throws -> Float { Float(try ValueDecoder.double(value, path)) }
    func decode(_ type: Int.Type) throws -> Int { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: Int8.Type) throws -> Int8 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: Int16.Type) throws -> Int16 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: Int32.Type) throws -> Int32 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: Int64.Type) throws -> Int64 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: UInt.Type) throws -> UInt { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try ValueDecoder.integer(type, value, path) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try ValueDecoder.integer(type, value, path) }
}

/// The elements of an array.
struct UnkeyedValueContainer: UnkeyedDecodingContainer {
    let elements: [Value]
    let path: CodingPathNode?
    let context: CodingContext
    private(set) var currentIndex = 0

    init(elements: [Value], path: CodingPathNode?, context: CodingContext) {
        self.elements = elements
        self.path = path
        self.context = context
    }

    var codingPath: [any CodingKey] { path?.keys ?? [] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func element() throws -> ValueDecoder {
        let node = CodingPathNode(PlainKey(intValue: currentIndex), in: path)
        guard currentIndex < elements.count else {
            throw DecodingError.valueNotFound(
                Value.self,
                DecodingError.Context(codingPath: node.keys, debugDescription: "The array has no more elements."))
        }
        return ValueDecoder(value: elements[currentIndex], path: node, context: context)
    }

    private mutating func take<Result>(_ body: (ValueDecoder) throws -> Result) throws -> Result {
        let result = try body(element())
        currentIndex += 1
        return result
    }

    mutating func decodeNil() throws -> Bool {
        guard try element().value.isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try take { try ValueDecoder.decode(type, from: $0.value, at: $0.path, in: $0.context) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try take { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try take { $0 } }
}
