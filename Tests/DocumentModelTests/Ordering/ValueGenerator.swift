import DocumentModel

/// A generator of random values from a small alphabet, so that equal and nearly equal values are
/// frequent.
struct ValueGenerator {
    var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func value(depth: Int = 0) -> Value {
        switch Int.random(in: 0..<(depth < 3 ? 16 : 11), using: &random) {
        case 0: .null
        case 1: .boolean(.random(using: &random))
        case 2, 3: .integer(integer())
        case 4, 5: .double(double())
        case 6: .timestamp(Timestamp(microseconds: Int64.random(in: -3...3, using: &random) * 999_999))
        case 7, 8: .string(string())
        case 9: .bytes(Array(string().utf8))
        case 10: .reference(reference())
        case 11: .geoPoint(GeoPoint(latitude: degrees(), longitude: degrees()))
        case 12: .array(values(depth: depth))
        case 13: vector()
        default: .map(fields(depth: depth))
        }
    }

    mutating func fields(depth: Int = 0) -> [String: Value] {
        var fields: [String: Value] = [:]
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            fields[pick(["a", "b", "c", "aa"])] = value(depth: depth + 1)
        }
        return fields
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    private mutating func values(depth: Int) -> [Value] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth + 1) }
    }

    private mutating func vector() -> Value {
        let elements = (0..<Int.random(in: 0...3, using: &random)).map { _ in Value.double(double()) }
        return .map(["__type__": .string("__vector__"), "value": .array(elements)])
    }

    private mutating func integer() -> Int64 {
        let base: Int64 = pick([0, 0, 1 << 53, -(1 << 53), 1 << 62, .max, .min, 1 << 60])
        return base.addingReportingOverflow(Int64.random(in: -2...2, using: &random)).partialValue
    }

    private mutating func double() -> Double {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            pick([
                .nan, .infinity, -.infinity, -0.0, .leastNonzeroMagnitude, 9.223372036854775807e18,
                -9.223372036854775808e18, 1e300,
            ])
        case 1: Double(Int64.random(in: -3...3, using: &random))
        case 2: Double(integer())
        default: Double(Int64.random(in: -3...3, using: &random)) + 0.5
        }
    }

    private mutating func degrees() -> Double { pick([-90, -0.0, 0, 0.5, 90]) }

    mutating func string() -> String {
        String(
            (0..<Int.random(in: 0...3, using: &random)).map { _ in pick(["a", "\u{0}", "b", "é", "\u{FFFD}", "😀"]) })
    }

    mutating func reference() -> String {
        let ids = ["a", "a-b", "b", "__id7__", "__id10__", "__id-1__", "\u{FFFD}", "😀"]
        let path = (0..<Int.random(in: 1...2, using: &random)).map { _ in "\(pick(["c", "c\u{1}"]))/\(pick(ids))" }
        return "projects/\(pick(["p", "q"]))/databases/d/documents/\(path.joined(separator: "/"))"
    }
}
