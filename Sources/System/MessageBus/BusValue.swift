/// A value of a D-Bus message.
package indirect enum BusValue: Sendable, Hashable {
    case byte(UInt8)
    case boolean(Bool)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    /// The elements, and the signature of one element. A dictionary is an array of entries.
    case array([BusValue], of: String)
    case structure([BusValue])
    case entry(key: BusValue, BusValue)
    case variant(BusValue)

    /// An array of strings.
    package static func strings(_ strings: [String]) -> BusValue { .array(strings.map { .string($0) }, of: "s") }

    /// A dictionary from strings to variants.
    package static func options(_ options: KeyValuePairs<String, BusValue>) -> BusValue {
        .array(options.map { .entry(key: .string($0.key), .variant($0.value)) }, of: "{sv}")
    }

    /// The signature of the type.
    var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .array(_, let element): "a\(element)"
        case .structure(let members): "(\(members.map(\.signature).joined()))"
        case .entry(let key, let value): "{\(key.signature)\(value.signature)}"
        case .variant: "v"
        }
    }

    package var stringValue: String? { if case .string(let text) = self { text } else { nil } }
    package var uint32Value: UInt32? { if case .uint32(let number) = self { number } else { nil } }
    package var booleanValue: Bool? { if case .boolean(let value) = self { value } else { nil } }
    package var arrayValue: [BusValue]? { if case .array(let elements, _) = self { elements } else { nil } }
    package var variantValue: BusValue? { if case .variant(let value) = self { value } else { nil } }
}
