/// The methods of values. What a method does depends on the type of the value.
enum Methods {
    static func call(
        _ name: String, on value: RuleValue, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        switch value {
        case .string(let text): try StringMethods.call(name, on: text, arguments, &counter)
        case .bytes(let bytes): try StringMethods.call(name, on: bytes, &counter)
        case .list(let list): try ListMethods.call(name, on: list, arguments, &counter)
        case .set(let set): try ListMethods.call(name, on: set, arguments, &counter)
        case .map(let map): try MapMethods.call(name, on: map, arguments, &counter)
        case .mapDifference(let new, let old): try MapMethods.call(name, from: old, to: new, &counter)
        case .timestamp(let time): try TimeValues.call(name, on: time)
        case .duration(let length): try TimeValues.call(name, on: length)
        case .latlng(let point): try PointMethods.call(name, on: point, arguments)
        case .path(let segments): try PathMethods.call(name, on: segments, arguments)
        case .unknown(let unknown): try ListMethods.call(name, on: unknown, arguments, &counter)
        case .null, .boolean, .integer, .float: throw .unsupported("method \"\(name)\"", on: value)
        }
    }
}
