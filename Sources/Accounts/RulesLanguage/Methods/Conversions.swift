/// The functions that convert values: `string`, `int`, `float`, `bool`, `path` and `debug`.
enum Conversions {
    static func convert(
        _ value: RuleValue, to conversion: Program.Conversion
    ) throws(OperationError) -> RuleValue {
        if case .unknown = value { return conversion == .debug ? value : .unknown(.anything) }
        switch conversion {
        case .debug: return value
        case .string: return .string(try string(of: value))
        case .bool:
            switch value {
            case .boolean: return value
            case .string(let text) where text == "true" || text == "false": return .boolean(text == "true")
            default: break
            }
        case .int:
            switch value {
            case .integer: return value
            case .float(let number):
                if let integer = Int64(exactly: number.rounded(.towardZero)) { return .integer(integer) }
            case .string(let text): if let integer = Int64(text) { return .integer(integer) }
            default: break
            }
        case .float:
            if let number = value.number { return .float(number) }
            if case .string(let text) = value, let number = Double(text) { return .float(number) }
        case .path:
            switch value {
            case .path: return value
            case .string(let text): return .path(text.split(separator: "/").map(String.init))
            default: break
            }
        }
        throw OperationError("This \(value.typeName) cannot be converted to \(conversion.rawValue).")
    }

    private static func string(of value: RuleValue) throws(OperationError) -> String {
        switch value {
        case .string(let text): return text
        case .boolean(let value): return value ? "true" : "false"
        case .integer(let number): return String(number)
        case .float(let number): return String(number)
        case .null: return "null"
        case .path(let segments): return "/" + segments.joined(separator: "/")
        default: throw OperationError("This \(value.typeName) cannot be converted to string.")
        }
    }
}
