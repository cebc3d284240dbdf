import XML

/// The rules by which pages of other origins may use a bucket from a browser ("Using cross-origin
/// resource sharing", Amazon S3 User Guide).
struct CORSRules: Sendable {
    struct Rule: Sendable {
        var id: String?
        var origins: [String]
        var methods: [String]
        var headers: [String]
        var exposed: [String]
        var maxAge: Int?
    }

    /// The rules in order. The first match is used.
    let rules: [Rule]

    /// The maximum size of the document in bytes, as on S3.
    static let documentLimit = 64 << 10
    private static let ruleLimit = 100
    private static let methods: Set<String> = ["GET", "PUT", "HEAD", "POST", "DELETE"]

    /// Reads the rules of a `CORSConfiguration`.
    init(_ tree: XMLElement) throws(S3Error) {
        var rules: [Rule] = []
        for element in tree.all("CORSRule") {
            func values(_ name: String) -> [String] { element.all(name).map(\.text) }
            let rule = Rule(
                id: element["ID"], origins: values("AllowedOrigin"), methods: values("AllowedMethod"),
                headers: values("AllowedHeader"), exposed: values("ExposeHeader"),
                maxAge: element["MaxAgeSeconds"].flatMap { Int($0) })
            guard !rule.origins.isEmpty, !rule.methods.isEmpty else { throw S3Error.malformedXML }
            if let method = rule.methods.first(where: { !Self.methods.contains($0) }) {
                throw S3Error.invalidRequest(
                    "Found unsupported HTTP method in CORS config. Unsupported method is \(method)")
            }
            for text in rule.origins + rule.headers + rule.exposed {
                guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), text.count(where: { $0 == "*" }) <= 1 else {
                    throw S3Error.invalidRequest("\"\(text)\" can not have more than one wildcard, nor spaces.")
                }
            }
            rules.append(rule)
        }
        guard (1...Self.ruleLimit).contains(rules.count) else { throw S3Error.malformedXML }
        self.rules = rules
    }

    var xml: XMLElement {
        XMLElement(
            "CORSConfiguration",
            rules.map { rule in
                func elements(_ name: String, _ values: [String]) -> [XMLElement] {
                    values.map { XMLElement(name, $0) }
                }
                return XMLElement(
                    "CORSRule",
                    elements("ID", rule.id.map { [$0] } ?? []) + elements("AllowedOrigin", rule.origins)
                        + elements("AllowedMethod", rule.methods) + elements("AllowedHeader", rule.headers)
                        + elements("ExposeHeader", rule.exposed)
                        + elements("MaxAgeSeconds", rule.maxAge.map { [String($0)] } ?? []))
            })
    }

    /// Returns the rule for a request, and whether it allows pages of any origin.
    ///
    /// - Parameter headers: The fields that a request announces in its preflight.
    func rule(origin: String, method: String, headers: [String] = []) -> (rule: Rule, isForAll: Bool)? {
        for rule in rules {
            guard rule.methods.contains(method), let match = rule.origins.first(where: { Self.fits(origin, $0) }),
                headers.allSatisfy({ name in
                    rule.headers.contains { Self.fits(name.lowercased(), $0.lowercased()) }
                })
            else { continue }
            return (rule, match == "*")
        }
        return nil
    }

    /// Whether a text matches a pattern with at most one `*`.
    static func fits(_ text: String, _ pattern: String) -> Bool {
        guard let star = pattern.firstIndex(of: "*") else { return text == pattern }
        let (before, behind) = (pattern[..<star], pattern[pattern.index(after: star)...])
        return text.utf8.count >= before.utf8.count + behind.utf8.count && text.hasPrefix(before)
            && text.hasSuffix(behind)
    }
}
