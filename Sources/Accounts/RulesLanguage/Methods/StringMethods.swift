import Cryptography
import RegularExpressions

/// The methods of strings and bytes.
enum StringMethods {
    static func call(
        _ name: String, on text: String, _ arguments: [RuleValue], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        try counter.spend(bytes: text.utf8.count)
        switch name {
        case "size": return .integer(Int64(text.unicodeScalars.count))
        case "lower": return .string(text.lowercased())
        case "upper": return .string(text.uppercased())
        case "trim": return .string(trimmed(text))
        case "toUtf8": return .bytes(Array(text.utf8))
        case "matches": return try matches(.string(text), try expression(arguments.first), &counter)
        case "split": return .strings(try pieces(of: text, at: try expression(arguments.first), &counter))
        case "replace":
            guard case .string(let replacement)? = arguments.last else {
                throw OperationError("\"replace\" takes a regular expression and a string.")
            }
            return .string(try replaced(text, try expression(arguments.first), replacement, &counter))
        default: throw .unsupported("method \"\(name)\"", on: .string(text))
        }
    }

    static func call(
        _ name: String, on bytes: [UInt8], _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        try counter.spend(bytes: bytes.count)
        switch name {
        case "size": return .integer(Int64(bytes.count))
        case "toBase64": return .string(Base64.encode(bytes))
        case "toHexString": return .string(Hex.encode(bytes))
        default: throw .unsupported("method \"\(name)\"", on: .bytes(bytes))
        }
    }

    /// Whether a whole string matches.
    static func matches(
        _ value: RuleValue, _ expression: RegularExpression, _ counter: inout WorkCounter
    ) throws(OperationError) -> RuleValue {
        switch value {
        case .string(let text):
            // The worst case of matching is the product of both lengths.
            try counter.spend(bytes: text.utf8.count * (expression.pattern.utf8.count / 16 + 1))
            return .boolean(try run { () throws(RegularExpressionError) in try expression.matchesWhole(text) })
        case .unknown: return .unknown(.anything)
        default: throw .unsupported("method \"matches\"", on: value)
        }
    }

    private static func trimmed(_ text: String) -> String {
        var characters = text.unicodeScalars[...]
        while let first = characters.first, first.properties.isWhitespace { characters.removeFirst() }
        while let last = characters.last, last.properties.isWhitespace { characters.removeLast() }
        return String(characters)
    }

    private static func expression(_ pattern: RuleValue?) throws(OperationError) -> RegularExpression {
        guard case .string(let pattern)? = pattern else { throw OperationError("A regular expression is a string.") }
        return try run { () throws(RegularExpressionError) in try RegularExpression(pattern) }
    }

    private static func pieces(
        of text: String, at separator: RegularExpression, _ counter: inout WorkCounter
    ) throws(OperationError) -> [String] {
        let ranges = try run { () throws(RegularExpressionError) in try separator.ranges(in: text) }
        try counter.spend(elements: ranges.count)
        let bytes = Array(text.utf8)
        var pieces: [String] = []
        var start = 0
        for range in ranges where !(range.isEmpty && (range.lowerBound == 0 || range.lowerBound == bytes.count)) {
            pieces.append(String(decoding: bytes[start..<range.lowerBound], as: UTF8.self))
            start = range.upperBound
        }
        return pieces + [String(decoding: bytes[start...], as: UTF8.self)]
    }

    private static func replaced(
        _ text: String, _ expression: RegularExpression, _ replacement: String, _ counter: inout WorkCounter
    ) throws(OperationError) -> String {
        let ranges = try run { () throws(RegularExpressionError) in try expression.ranges(in: text) }
        try counter.spend(elements: ranges.count)
        let (count, overflow) = ranges.count.multipliedReportingOverflow(by: replacement.utf8.count)
        guard !overflow, count <= Operators.stringLimit else {
            throw OperationError("This string would be longer than \(Operators.stringLimit) bytes.")
        }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var start = 0
        for range in ranges {
            result += bytes[start..<range.lowerBound]
            result += replacement.utf8
            start = range.upperBound
        }
        return String(decoding: result + bytes[start...], as: UTF8.self)
    }

    private static func run<Result>(
        _ body: () throws(RegularExpressionError) -> Result
    ) throws(OperationError) -> Result {
        do throws(RegularExpressionError) { return try body() } catch { throw OperationError("\(error).") }
    }
}
