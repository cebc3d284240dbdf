import Cryptography
import DocumentModel

/// The functions of namespaces, such as `math.abs`.
enum Namespaces {
    static func call(
        _ namespace: Program.Namespace, _ name: String, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        for case .unknown in arguments { return .unknown(.anything) }
        switch namespace {
        case .math: return try math(name, arguments)
        case .timestamp: return try TimeValues.timestamp(name, arguments)
        case .duration: return try TimeValues.duration(name, arguments)
        case .latlng: return try PointMethods.point(arguments)
        case .hashing: return .bytes(try hash(name, arguments.first, &counter))
        }
    }

    private static func math(_ name: String, _ arguments: [RuleValue]) throws(OperationError) -> RuleValue {
        guard let first = arguments.first, let number = first.number, let last = arguments.last?.number else {
            throw OperationError("\"math.\(name)\" takes numbers.")
        }
        switch name {
        case "abs":
            guard case .integer(let integer) = first else { return .float(number.magnitude) }
            guard let magnitude = Int64(exactly: integer.magnitude) else {
                throw OperationError("The result is beyond an integer of 64 bits.")
            }
            return .integer(magnitude)
        case "isNaN": return .boolean(number.isNaN)
        case "isInfinite": return .boolean(number.isInfinite)
        case "sqrt": return .float(number.squareRoot())
        case "pow": return .float(power(number, last))
        case "ceil": return try integer(number.rounded(.up))
        case "floor": return try integer(number.rounded(.down))
        default: return try integer(number.rounded())
        }
    }

    private static func integer(_ number: Double) throws(OperationError) -> RuleValue {
        guard let integer = Int64(exactly: number) else {
            throw OperationError("The result is beyond an integer of 64 bits.")
        }
        return .integer(integer)
    }

    private static func hash(
        _ name: String, _ value: RuleValue?, _ counter: inout WorkCounter
    ) throws(OperationError) -> [UInt8] {
        let bytes: [UInt8]
        switch value {
        case .string(let text)?: bytes = Array(text.utf8)
        case .bytes(let value)?: bytes = value
        default: throw OperationError("\"hashing.\(name)\" takes a string or bytes.")
        }
        try counter.spend(bytes: bytes.count)
        switch name {
        case "md5": return MD5.hash(bytes)
        case "sha256": return SHA256.hash(bytes).bytes
        default:
            let sum = CRC32.checksum(bytes, name == "crc32" ? .ieee : .castagnoli)
            return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
        }
    }
}
