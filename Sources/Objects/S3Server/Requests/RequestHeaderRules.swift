import BucketStore
import HTTPMessages

/// The rules for the `x-amz-` headers of requests.
///
/// A client that sends such a header relies on it: ignoring a condition, a lock, an encryption or
/// an owner would give a wrong answer with a success status. Each header of the Amazon S3 API
/// Reference is therefore honored, ignored for a stated reason, or refused by name. Unknown headers
/// are refused.
enum RequestHeaderRules {
    enum Rule: Sendable {
        /// The operation that the header belongs to reads it.
        case honored
        /// The header is ignored, because it would not change the answer. The text gives the
        /// reason.
        case harmless(String)
        /// Only these values are accepted, compared without regard to case, because they ask for
        /// the server's only behavior.
        case only(Set<String>, otherwise: S3Error)
        /// The header must name the account that owns all buckets.
        case owner
        /// The request is refused with `NotImplemented`.
        case refused
    }

    /// The account that owns all buckets: the one in the role that STS answers name.
    static let owner = "000000000000"

    /// Returns the rule for a header.
    ///
    /// - Parameter name: The name in lower case, beginning with `x-amz-`.
    static func rule(for name: String) -> Rule {
        rules[name] ?? prefixes.first { name.hasPrefix($0.prefix) }?.rule ?? .refused
    }

    /// Checks all headers, and throws the error of the first one that asks for something
    /// unsupported.
    static func check(_ headers: HTTPHeaders) throws(S3Error) {
        for field in headers where isAmazons(field.name) {
            let name = field.name.lowercased()
            // An empty value asks for nothing.
            guard !field.value.isEmpty else { continue }
            switch rule(for: name) {
            case .honored, .harmless: continue
            case .only(let values, let error):
                guard values.contains(field.value.lowercased()) else { throw error }
            case .owner: guard field.value == owner else { throw S3Error.accessDenied }
            case .refused: throw S3Error.notImplemented(name)
            }
        }
        try checkTrailer(headers)
    }

    /// Checks the names in `x-amz-trailer`. A checksum announced for the trailer counts like one in
    /// a header.
    private static func checkTrailer(_ headers: HTTPHeaders) throws(S3Error) {
        for value in headers.values("x-amz-trailer") {
            for name in value.lowercased().split(separator: ",").map(\.trimmed) where !name.isEmpty {
                guard case .honored = rule(for: name) else { throw S3Error.notImplemented(name) }
            }
        }
    }

    /// Whether a name begins with `x-amz-`, in any case.
    static func isAmazons(_ name: String) -> Bool {
        var bytes = name.utf8.makeIterator()
        for expected in "x-amz-".utf8 {
            guard let byte = bytes.next() else { return false }
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            guard lower == expected else { return false }
        }
        return true
    }

    private static let oneClass = S3Error(
        "InvalidStorageClass", "The storage class you specified is not valid. This server has STANDARD alone.", 400)
    private static let noACLs = S3Error(
        "AccessControlListNotSupported",
        "The bucket does not allow ACLs. An object is for its account; share it by a presigned URL.", 400)

    /// The rules by name; see `prefixes` for families.
    private static let rules: [String: Rule] = {
        var rules: [String: Rule] = [
            // Access and storage.
            "x-amz-acl": .only(
                ["private", "bucket-owner-full-control", "bucket-owner-read"], otherwise: noACLs),
            "x-amz-storage-class": .only(["standard"], otherwise: oneClass),
            "x-amz-object-ownership": .only(
                ["bucketownerenforced"], otherwise: .notImplemented("An x-amz-object-ownership that allows ACLs")),
            "x-amz-bucket-namespace": .only(["global"], otherwise: .notImplemented("This x-amz-bucket-namespace")),
            "x-amz-bucket-object-lock-enabled": .only(
                ["false"], otherwise: .notImplemented("x-amz-bucket-object-lock-enabled")),
            "x-amz-expected-bucket-owner": .owner, "x-amz-source-expected-bucket-owner": .owner,
        ]
        let honored = [
            // Signatures and the form of the body.
            "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "x-amz-decoded-content-length",
            "x-amz-trailer", "x-amz-trailer-signature",
            // Checksums.
            "x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type", "x-amz-checksum-crc32",
            "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme", "x-amz-checksum-sha1", "x-amz-checksum-sha256",
            "x-amz-mp-object-size",
            // Copies.
            "x-amz-copy-source", "x-amz-copy-source-range", "x-amz-copy-source-if-match",
            "x-amz-copy-source-if-none-match", "x-amz-copy-source-if-modified-since",
            "x-amz-copy-source-if-unmodified-since", "x-amz-metadata-directive",
            // Conditions.
            "x-amz-if-match-size", "x-amz-if-match-last-modified-time", "x-amz-if-match-initiated-time",
            "x-amz-object-attributes",
        ]
        for name in honored { rules[name] = .honored }
        let harmless = [
            "x-amz-sdk-checksum-algorithm": "the checksum itself is in a header or trailer of its own",
            "x-amz-request-payer": "requests cost nothing",
            "x-amz-mfa": "no bucket asks for it",
            "x-amz-bypass-governance-retention": "no object is retained",
            "x-amz-optional-object-attributes": "it asks for the state of a restored archive, and there are none",
            "x-amz-max-parts": "parts are counted, not listed",
            "x-amz-part-number-marker": "parts are counted, not listed",
            "x-amz-tagging-directive": "no object has tags",
            "x-amz-object-annotation-directive": "no object has annotations",
            "x-amz-confirm-remove-self-bucket-access": "it belongs to a setting that is refused",
            "x-amz-skip-destination-validation": "it belongs to a setting that is refused",
            "x-amz-transition-default-minimum-object-size": "it belongs to a setting that is refused",
            "x-amz-create-session-mode": "it belongs to an operation that is refused",
            "x-amz-user-agent": "it names the client",
            "x-amz-te": "it offers to take a trailer, which is not sent",
        ]
        for (name, reason) in harmless { rules[name] = .harmless(reason) }
        for name in [
            "x-amz-tagging", "x-amz-website-redirect-location", "x-amz-write-offset-bytes",
            "x-amz-bucket-object-lock-token", "x-amz-client-token", "x-amz-object-if-match", "x-amz-request-route",
            "x-amz-request-token",
        ] { rules[name] = .refused }
        return rules
    }()

    private static let prefixes: [(prefix: String, rule: Rule)] = [
        ("x-amz-meta-", .honored), ("x-amz-grant-", .only([], otherwise: noACLs)),
        ("x-amz-server-side-encryption", .refused), ("x-amz-copy-source-server-side-encryption-", .refused),
        ("x-amz-object-lock-", .refused), ("x-amz-rename-source", .refused), ("x-amz-fwd-", .refused),
    ]
}
