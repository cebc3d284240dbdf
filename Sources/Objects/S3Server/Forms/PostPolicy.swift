import CivilTime
import HTTPMessages
import JSON

/// The conditions that the signer of a form puts on its fields and its file ("Creating a POST
/// policy", Amazon S3 API Reference).
struct PostPolicy: Sendable {
    private enum Condition: Sendable {
        case equal(String, String)
        case prefix(String, String)

        var text: String {
            switch self {
            case .equal(let name, let value): "[\"eq\", \"$\(name)\", \"\(value)\"]"
            case .prefix(let name, let prefix): "[\"starts-with\", \"$\(name)\", \"\(prefix)\"]"
            }
        }
    }

    /// The expiration of the policy, in seconds since 1970.
    let expiration: Int64
    /// The allowed lengths of the file in bytes.
    private(set) var length: ClosedRange<Int64> = 0...S3Protocol.objectLimit
    private var conditions: [Condition] = []

    /// The fields that need no condition.
    private static let free: Set<String> = [
        "policy", "x-amz-signature", "awsaccesskeyid", "signature", "file", "bucket",
    ]

    /// Parses a policy document.
    ///
    /// - Throws: `InvalidPolicyDocument`.
    init(parsing bytes: [UInt8]) throws(S3Error) {
        guard let json = try? JSON(parsing: bytes, depth: 8) else { throw Self.invalid("it is not JSON") }
        guard let text = json["expiration"]?.stringValue, let expiration = UTCTime(rfc3339: text)?.seconds else {
            throw Self.invalid("it has no expiration as 2026-11-21T12:00:00Z")
        }
        guard let list = json["conditions"]?.arrayValue else { throw Self.invalid("it has no conditions") }
        self.expiration = expiration
        for item in list {
            if let object = item.objectValue {
                guard !object.keys.isEmpty else { throw Self.invalid("a condition is empty") }
                for name in object.keys {
                    guard let value = object[name]?.stringValue else { throw Self.invalid("\(name) is not a text") }
                    conditions.append(.equal(name.lowercased(), value))
                }
            } else if let parts = item.arrayValue, parts.count == 3, let kind = parts[0].stringValue {
                try add(kind.lowercased(), parts[1], parts[2])
            } else {
                throw Self.invalid("a condition is neither an object nor an array of three")
            }
        }
    }

    private mutating func add(_ kind: String, _ first: JSON, _ second: JSON) throws(S3Error) {
        if kind == "content-length-range" {
            guard let least = Self.number(first), let most = Self.number(second), 0 <= least, least <= most else {
                throw Self.invalid("content-length-range takes two numbers in ascending order")
            }
            let (low, high) = (max(least, length.lowerBound), min(most, length.upperBound))
            guard low <= high else { throw Self.invalid("no file is within all of its content-length-range") }
            length = low...high
            return
        }
        guard let name = first.stringValue, name.hasPrefix("$"), let value = second.stringValue else {
            throw Self.invalid("the condition \(kind) takes a field with a $ before it, and a text")
        }
        switch kind {
        case "eq": conditions.append(.equal(name.dropFirst().lowercased(), value))
        case "starts-with": conditions.append(.prefix(name.dropFirst().lowercased(), value))
        default: throw Self.invalid("the condition \(kind) is not known")
        }
    }

    /// Checks that each condition holds for a form, and that each field has one.
    ///
    /// - Parameter fields: The fields by lower-case name, including the bucket.
    func check(_ fields: [String: String], now: Int64) throws(S3Error) {
        guard now < expiration else { throw Self.denied("Policy expired.") }
        var known = Self.free
        for condition in conditions {
            let holds: Bool
            switch condition {
            case .equal(let name, let value):
                known.insert(name)
                holds = (fields[name] ?? "").utf8.elementsEqual(value.utf8)
            case .prefix(let name, let prefix):
                known.insert(name)
                holds = (fields[name] ?? "").utf8.starts(with: prefix.utf8)
            }
            guard holds else { throw Self.denied("Policy Condition failed: \(condition.text)") }
        }
        let extra = fields.keys.filter { !known.contains($0) && !$0.hasPrefix("x-ignore-") }
        guard extra.isEmpty else { throw Self.denied("Extra input fields: \(extra.sorted().joined(separator: ", "))") }
    }

    /// Returns a number, which may be in quotes.
    private static func number(_ json: JSON) -> Int64? { json.integerValue ?? json.stringValue.flatMap { Int64($0) } }

    private static func invalid(_ why: String) -> S3Error {
        S3Error("InvalidPolicyDocument", "Invalid Policy: \(why).", 400)
    }

    private static func denied(_ why: String) -> S3Error {
        S3Error("AccessDenied", "Invalid according to Policy: \(why)", 403)
    }
}
