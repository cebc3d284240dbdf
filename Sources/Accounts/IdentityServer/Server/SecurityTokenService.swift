import CivilTime
import Cryptography
import HTTPMessages
import HTTPServer
import IdentityProtocol
import XML

/// The STS call `AssumeRoleWithWebIdentity` (AWS query API of 2011-06-15), which exchanges an ID
/// token for credentials of the object store that are limited to the user's own prefix. Any role
/// and session name are accepted.
struct SecurityTokenService: Sendable {
    let server: IdentityService

    private static let bodyLimit = 64 << 10

    /// Whether a request to the root is such a call and not a request to list the object store's
    /// buckets.
    static func isFor(_ request: HTTPServerRequest) -> Bool {
        switch request.method {
        case .get: request.target[query: "Action"] != nil
        case .post:
            request.headers["Content-Type"]?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true
        default: false
        }
    }

    func handle(_ request: HTTPServerRequest) async -> HTTPResponse {
        do {
            var items = request.target.query
            if request.method == .post {
                let bytes = try await request.body.collect(limit: Self.bodyLimit)
                guard let text = String(validating: bytes, as: UTF8.self), let form = HTTPTarget.items(of: text) else {
                    throw Refusal("MalformedQueryString", "The form is malformed.")
                }
                items += form
            }
            let fields = Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
            return try answer(fields)
        } catch let refusal as Refusal {
            return Self.response(to: refusal)
        } catch {
            return Self.response(to: Refusal("ValidationError", "The request could not be read."))
        }
    }

    private static func response(to refusal: Refusal) -> HTTPResponse {
        let error = XMLElement(
            "Error",
            [
                XMLElement("Type", "Sender"), XMLElement("Code", refusal.code), XMLElement("Message", refusal.message),
            ])
        return xml(.badRequest, XMLElement("ErrorResponse", [error, metadata]))
    }

    /// Whether a field of the form restricts the keys.
    private static func isPolicy(_ name: String) -> Bool {
        name == "Policy" || name.hasPrefix("PolicyArns.") || name == "PolicyArns"
    }

    private struct Refusal: Error {
        let code: String
        let message: String

        init(_ code: String, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    private func answer(_ fields: [String: String]) throws -> HTTPResponse {
        guard let action = fields["Action"] else { throw Refusal("MissingAction", "There is no Action.") }
        guard action == "AssumeRoleWithWebIdentity" else {
            throw Refusal("InvalidAction", "Only AssumeRoleWithWebIdentity is served here.")
        }
        guard let text = fields["WebIdentityToken"], !text.isEmpty else {
            throw Refusal("ValidationError", "There is no WebIdentityToken.")
        }
        guard let lifetime = fields["DurationSeconds"].map({ Int64($0) }) ?? 3600,
            StorageCredentials.lifetimes.contains(lifetime)
        else { throw Refusal("ValidationError", "DurationSeconds is a number from 900 to 43200.") }
        // Keys that allow more than was asked for would be passed on as if they did not.
        if let name = fields.keys.sorted().first(where: { Self.isPolicy($0) && fields[$0]?.isEmpty == false }) {
            throw Refusal(
                "ValidationError",
                "\(name) is not supported: the keys always reach all of the user's own objects. Leave it out, or hand on a presigned URL for one object."
            )
        }
        let token: VerifiedToken
        do {
            token = try server.authenticator.verify(text)
        } catch {
            throw Refusal(error.code == .tokenExpired ? "ExpiredTokenException" : "InvalidIdentityToken", error.message)
        }
        guard token.canOwnObjects else {
            throw Refusal("InvalidIdentityToken", "The subject of the token cannot begin an object's key.")
        }
        let credential = server.storage.issue(
            for: token.userID, isAnonymous: token.provider == "anonymous", lifetime: lifetime, now: server.now(),
            tokenIssuedAt: server.isEmulator ? nil : token.issuedAt)
        return Self.xml(.ok, describe(credential, token, fields))
    }

    private func describe(
        _ credential: StorageCredential, _ token: VerifiedToken, _ fields: [String: String]
    ) -> XMLElement {
        let session = fields["RoleSessionName"] ?? "ferry"
        let role = fields["RoleArn"] ?? "arn:aws:iam::000000000000:role/ferry"
        let result = XMLElement(
            "AssumeRoleWithWebIdentityResult",
            [
                XMLElement("SubjectFromWebIdentityToken", token.userID),
                XMLElement("Audience", server.configuration.project),
                XMLElement(
                    "AssumedRoleUser",
                    [
                        XMLElement("Arn", "\(role)/\(session)"),
                        XMLElement("AssumedRoleId", "\(token.userID):\(session)"),
                    ]),
                XMLElement(
                    "Credentials",
                    [
                        XMLElement("AccessKeyId", credential.accessKey),
                        XMLElement("SecretAccessKey", credential.secretKey),
                        XMLElement("SessionToken", credential.sessionToken ?? ""),
                        XMLElement("Expiration", UTCTime(seconds: credential.expiresAt ?? 0).rfc3339(fraction: .none)),
                    ]),
                XMLElement("Provider", server.configuration.issuer),
            ])
        return XMLElement("AssumeRoleWithWebIdentityResponse", [result, Self.metadata])
    }

    private static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"

    private static var metadata: XMLElement {
        XMLElement("ResponseMetadata", [XMLElement("RequestId", Hex.encode(RandomBytes.make(16)))])
    }

    private static func xml(_ status: HTTPStatus, _ element: XMLElement) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "text/xml", "Cache-Control": "no-store"],
            body: .bytes(element.document(namespace: namespace)))
    }
}
