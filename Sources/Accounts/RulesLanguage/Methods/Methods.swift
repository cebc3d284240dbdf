/// The methods of values. What a method does depends on the type of the value.
enum Methods {
    static func call(
        _ name: String, on value: RuleValue, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        guard isDecided(name, by: value, arguments) else { return .unknown(.anything) }
        return switch value {
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

    /// Whether the parts of values that a query leaves open do not matter for a method.
    private static func isDecided(_ name: String, by value: RuleValue, _ arguments: [RuleValue]) -> Bool {
        switch (value, name) {
        // These look at the number of elements, at keys, or at one element only.
        case (.list, "size"), (.map, "size"), (.map, "keys"): true
        case (.map, "get"): !arguments.contains(where: \.mayBeAbsent)
        case (.unknown, _): !arguments.contains(where: \.isOpen)
        default: !value.isOpen && !arguments.contains(where: \.isOpen)
        }
    }
}
