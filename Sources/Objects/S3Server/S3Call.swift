import HTTPMessages
import HTTPServer
import XML

/// A request that was authenticated, with the bucket and the key that it names.
struct S3Call: Sendable {
    let request: HTTPServerRequest
    let authentication: AuthenticatedRequest
    let bucket: String
    /// The key; empty for calls on the bucket.
    let key: String

    var credential: S3Credential { authentication.credential }

    /// Whether the query has a parameter of that name.
    func has(_ parameter: String) -> Bool { request.target[query: parameter] != nil }

    /// Returns the value of a parameter of the query; nil if it is absent.
    func parameter(_ name: String) -> String? { request.target[query: name] }

    /// Returns an integer parameter, limited to the end of the range; `otherwise` if it is absent.
    func integer(_ name: String, in range: ClosedRange<Int>, otherwise: Int) throws -> Int {
        guard let text = parameter(name), !text.isEmpty else { return otherwise }
        guard let number = Int(text), number >= range.lowerBound else {
            throw S3Error.invalidArgument("\(name) must be a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return min(number, range.upperBound)
    }

    /// Throws `AccessDenied` unless the caller is an administrator. Only administrators create,
    /// list and delete buckets.
    func requireAdministrator() throws {
        guard credential.isAdministrator else { throw S3Error.accessDenied }
    }

    static func check(key: String) throws {
        guard key.utf8.count <= 1024, !key.unicodeScalars.contains("\u{10FFFF}") else {
            throw S3Error("KeyTooLongError", "Your key is too long", 400)
        }
    }

    /// Checks a bucket's name: 3 to 63 lower-case letters, digits, dots and hyphens, with a letter
    /// or digit at both ends.
    static func check(bucket: String) throws {
        let bytes = bucket.utf8
        func isAlphanumeric(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
        guard (3...63).contains(bytes.count), bytes.allSatisfy({ isAlphanumeric($0) || $0 == 0x2D || $0 == 0x2E }),
            bytes.first.map(isAlphanumeric) == true, bytes.last.map(isAlphanumeric) == true,
            bytes.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
        else { throw S3Error("InvalidBucketName", "The specified bucket is not valid.", 400) }
    }

    /// Throws for a version other than `null`, the only version of each object.
    func checkVersion() throws(S3Error) { try Self.check(version: parameter("versionId")) }

    static func check(version: String?) throws(S3Error) {
        guard let version, !version.isEmpty, version != "null" else { return }
        throw S3Error.invalidArgument("Invalid version id specified")
    }
}

extension HTTPResponse {
    /// Creates a response with a document in the namespace of S3.
    static func xml(_ element: XMLElement, headers: HTTPHeaders = [:]) -> HTTPResponse {
        var headers = headers
        headers["Content-Type"] = "application/xml"
        return HTTPResponse(headers: headers, body: .bytes(element.document(namespace: S3Protocol.namespace)))
    }
}
