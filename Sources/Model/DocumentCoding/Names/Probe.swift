/// Decodes an example of a model, in which one field differs from the plain example.
struct Probe: Decoder {
    final class State {
        /// The number of the field that differs; nil for none.
        let target: Int?
        private(set) var count = 0
        private(set) var path: [String] = []
        /// The types that were decoded at each path.
        private(set) var types: [[String]: Set<ObjectIdentifier>] = [:]

        init(target: Int?) { self.target = target }

        func note(_ type: any Any.Type, at path: [any CodingKey]) {
            types[path.map(\.stringValue), default: []].insert(ObjectIdentifier(type))
        }

        /// Counts a field. Returns whether it is the one that differs.
        func isTarget(at path: [any CodingKey]) -> Bool {
            defer { count += 1 }
            guard count == target else { return false }
            self.path = path.map(\.stringValue)
            return true
        }
    }

    let state: State
    let codingPath: [any CodingKey]
    /// Whether fields are counted. The elements of an array are not fields.
    var counts = true

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(KeyedProbe(probe: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { UnkeyedProbe(probe: self, hasElement: isTarget()) }
    func singleValueContainer() -> any SingleValueDecodingContainer { SingleProbe(probe: self) }

    func isTarget() -> Bool { counts && state.isTarget(at: codingPath) }

    /// Returns an example of a type, in its other form if it is the field that differs.
    func example<T: Decodable>(of type: T.Type) throws -> T {
        if counts { state.note(type, at: codingPath) }
        if let special = type as? any ValueCodable.Type { return try cast(Self.pick(special, isTarget())) }
        if let own = type as? any FieldExamples.Type { return try cast(Self.pick(own, isTarget())) }
        if let basic = type as? any BasicExample.Type { return try cast(basic.example(isTarget())) }
        if let map = type as? any MapExample.Type { return try cast(map.example(isTarget(), self)) }
        if let cases = type as? any CaseIterable.Type, let pair = Self.pair(cases) {
            return try cast(isTarget() ? pair.1 : pair.0)
        }
        if let raw = type as? any RawRepresentable.Type, let pair = Self.pair(raw) {
            return try cast(isTarget() ? pair.1 : pair.0)
        }
        do {
            return try T(from: self)
        } catch let error as FieldNameError {
            throw error
        } catch {
            throw FieldNameError(
                "\(codingPath.propertyPath) is a \(type), of which no example can be made. "
                    + "Make \(type) CaseIterable, or let it conform to FieldExamples.")
        }
    }

    private func cast<T>(_ value: Any) throws -> T {
        guard let value = value as? T else { throw FieldNameError("\(T.self) has examples of another type.") }
        return value
    }

    private static func pick<T: ValueCodable>(_ type: T.Type, _ isTarget: Bool) -> Any {
        isTarget ? type.examples.1 : type.examples.0
    }

    private static func pick<T: FieldExamples>(_ type: T.Type, _ isTarget: Bool) -> Any {
        isTarget ? type.fieldExamples.1 : type.fieldExamples.0
    }

    private static func pair<T: CaseIterable>(_ type: T.Type) -> (Any, Any)? {
        let all = Array(type.allCases)
        guard let first = all.first, let last = all.last else { return nil }
        return (first, last)
    }

    /// Returns two values of an enumeration with raw values; nil if they cannot be guessed.
    private static func pair<T: RawRepresentable>(_ type: T.Type) -> (Any, Any)? {
        if let whole = T.RawValue.self as? any FixedWidthInteger.Type { return pair(type, whole) }
        guard T.RawValue.self == String.self, MemoryLayout<T>.size == 1, MemoryLayout<T>.alignment == 1 else {
            return nil
        }
        // A type of one byte cannot store a string, so it is an enumeration whose cases have no
        // values and are numbered from 0.
        let pair = (UInt8(0), UInt8(1))
        return (unsafeBitCast(pair.0, to: type), unsafeBitCast(pair.1, to: type))
    }

    private static func pair<T: RawRepresentable, N: FixedWidthInteger>(_ type: T.Type, _ whole: N.Type) -> (Any, Any)?
    {
        var found: [Any] = []
        for number in -8..<256 {
            guard let raw = N(exactly: number) as? T.RawValue, let value = T(rawValue: raw) else { continue }
            found.append(value)
            if found.count == 2 { break }
        }
        guard let first = found.first, let last = found.last else { return nil }
        return (first, last)
    }
}

extension Probe {
    fileprivate struct KeyedProbe<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let probe: Probe

        var codingPath: [any CodingKey] { probe.codingPath }
        var allKeys: [Key] { [] }

        private func at(_ key: Key) -> Probe {
            Probe(state: probe.state, codingPath: probe.codingPath + [key], counts: probe.counts)
        }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) -> Bool { false }
        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try at(key).example(of: type) }
        func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
            try at(key).example(of: type)
        }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedDecodingContainer<Nested> {
            at(key).container(keyedBy: type)
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { at(key).unkeyedContainer() }
        func superDecoder() -> any Decoder { probe }
        func superDecoder(forKey key: Key) -> any Decoder { at(key) }
    }

    fileprivate struct SingleProbe: SingleValueDecodingContainer {
        let probe: Probe

        var codingPath: [any CodingKey] { probe.codingPath }
        func decodeNil() -> Bool { false }
        func decode<T: Decodable>(_ type: T.Type) throws -> T { try probe.example(of: type) }
    }

    /// An array without elements, or with one if it is the field that differs.
    fileprivate struct UnkeyedProbe: UnkeyedDecodingContainer {
        let probe: Probe
        let hasElement: Bool
        private(set) var currentIndex = 0

        init(probe: Probe, hasElement: Bool) {
            self.probe = probe
            self.hasElement = hasElement
        }

        var codingPath: [any CodingKey] { probe.codingPath }
        var count: Int? { hasElement ? 1 : 0 }
        var isAtEnd: Bool { currentIndex >= (hasElement ? 1 : 0) }

        private mutating func element() -> Probe {
            currentIndex += 1
            return Probe(state: probe.state, codingPath: probe.codingPath, counts: false)
        }

        mutating func decodeNil() -> Bool { false }
        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try element().example(of: type) }
        mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
            element().container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { element().unkeyedContainer() }
        mutating func superDecoder() -> any Decoder { element() }
    }
}

/// A type of the standard library with two examples.
private protocol BasicExample { static func example(_ isOther: Bool) -> Self }
extension String: BasicExample { fileprivate static func example(_ isOther: Bool) -> String { isOther ? "1" : "0" } }
extension Bool: BasicExample { fileprivate static func example(_ isOther: Bool) -> Bool { isOther } }
extension Double: BasicExample { fileprivate static func example(_ isOther: Bool) -> Double { isOther ? 1 : 0 } }
extension Float: BasicExample { fileprivate static func example(_ isOther: Bool) -> Float { isOther ? 1 : 0 } }
extension BasicExample where Self: FixedWidthInteger {
    fileprivate static func example(_ isOther: Bool) -> Self { isOther ? 1 : 0 }
}
extension Int: BasicExample {}
extension Int8: BasicExample {}
extension Int16: BasicExample {}
extension Int32: BasicExample {}
extension Int64: BasicExample {}
extension UInt: BasicExample {}
extension UInt8: BasicExample {}
extension UInt16: BasicExample {}
extension UInt32: BasicExample {}
extension UInt64: BasicExample {}

/// A dictionary, whose keys are not known to the model.
private protocol MapExample { static func example(_ isOther: Bool, _ probe: Probe) throws -> Self }
extension Dictionary: MapExample where Key == String, Value: Decodable {
    fileprivate static func example(_ isOther: Bool, _ probe: Probe) throws -> [String: Value] {
        guard isOther else { return [:] }
        return ["1": try Probe(state: probe.state, codingPath: probe.codingPath, counts: false).example(of: Value.self)]
    }
}
