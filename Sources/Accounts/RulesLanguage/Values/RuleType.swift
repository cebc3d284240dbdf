/// A type that `is` tests, by its name in the language.
enum RuleType: Sendable, Hashable {
    case boolean, bytes, duration, float, integer, latlng, list, map, number, path, set, string, timestamp

    /// Returns the type with a name; nil if no type has it.
    init?(named name: String) {
        switch name {
        case "bool": self = .boolean
        case "bytes": self = .bytes
        case "duration": self = .duration
        case "float": self = .float
        case "int": self = .integer
        case "latlng": self = .latlng
        case "list": self = .list
        case "map": self = .map
        case "number": self = .number
        case "path": self = .path
        case "set": self = .set
        case "string": self = .string
        case "timestamp": self = .timestamp
        default: return nil
        }
    }

    /// Whether a value has this type; nil if a query leaves it open.
    func includes(_ value: RuleValue) -> Bool? {
        switch value {
        case .null, .mapDifference: false
        case .boolean: self == .boolean
        case .integer: self == .integer || self == .number
        case .float: self == .float || self == .number
        case .string: self == .string
        case .bytes: self == .bytes
        case .timestamp: self == .timestamp
        case .duration: self == .duration
        case .latlng: self == .latlng
        case .path: self == .path
        case .list: self == .list
        case .set: self == .set
        case .map: self == .map
        case .unknown(let unknown): unknown.has(self)
        }
    }
}

extension RuleValue {
    /// The name of the value's type in the language, for messages.
    var typeName: String {
        switch self {
        case .null: "null"
        case .boolean: "bool"
        case .integer: "int"
        case .float: "float"
        case .string: "string"
        case .bytes: "bytes"
        case .timestamp: "timestamp"
        case .duration: "duration"
        case .latlng: "latlng"
        case .path: "path"
        case .list: "list"
        case .set: "set"
        case .map: "map"
        case .mapDifference: "map difference"
        case .unknown: "value that the query leaves open"
        }
    }
}
