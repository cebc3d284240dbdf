import HTTPMessages
import HTTPServer
import IdentityProtocol
import JSON

/// The forms of the Identity Toolkit's requests and answers.
enum ToolkitAnswer {
    static let bodyLimit = 64 << 10

    static let unknownOperation = error(.notFound, "OPERATION_NOT_ALLOWED : This server does not offer the operation.")

    static func answer(_ kind: String, _ account: Account, _ tokens: Accounts.Tokens?) -> JSONObject {
        var answer: JSONObject = ["kind": .string("identitytoolkit#\(kind)"), "localId": .string(account.id)]
        answer["email"] = account.email.map { .string($0) }
        answer["displayName"] = account.displayName.map { .string($0) }
        if let tokens {
            answer["idToken"] = .string(tokens.idToken)
            answer["refreshToken"] = .string(tokens.refreshToken)
            answer["expiresIn"] = .string(String(TokenIssuer.lifetime))
        }
        return answer
    }

    /// Returns the Identity Toolkit's error response. Clients split `message` at ` : `.
    static func error(_ status: HTTPStatus, _ message: String) -> HTTPResponse {
        .json(
            status,
            [
                "error": [
                    "code": .integer(Int64(status.rawValue)), "message": .string(message),
                    "status": status == .notFound ? "NOT_FOUND" : "INVALID_ARGUMENT",
                    "errors": [["message": .string(message), "domain": "global", "reason": "invalid"]],
                ]
            ])
    }

    static func answer(to error: any Error) -> HTTPResponse {
        if let refusal = error as? ToolkitRefusal {
            if refusal.name == "METHOD_NOT_ALLOWED" { return Self.error(.methodNotAllowed, refusal.name) }
            return Self.error(.badRequest, refusal.name)
        }
        if (error as? HTTPError)?.code == .bodyTooLarge { return Self.error(.contentTooLarge, "INVALID_REQUEST") }
        if let error = error as? IdentityError, error.code == .offline {
            return Self.error(.serviceUnavailable, "INVALID_IDP_RESPONSE : \(error.message)")
        }
        if error is AccountsUnavailable { return Self.error(.serviceUnavailable, "INTERNAL_ERROR") }
        guard let error = error as? IdentityError, let name = error.code.toolkitName else {
            return Self.error(.internalServerError, "INTERNAL_ERROR")
        }
        let code = error.code
        let text = explained.contains(code) ? "\(name) : \(error.message)" : name
        return Self.error(code == .tooManyAttempts ? .tooManyRequests : .badRequest, text)
    }

    /// The errors whose name is followed by ` : ` and a text, because the name alone does not tell the
    /// user what to do.
    private static let explained: Set<IdentityError.Code> = [
        .tooManyAttempts, .notAllowed, .signUpRestricted, .invalidCode, .alreadyLinked,
    ]

    // MARK: requests

    static func json(_ request: HTTPServerRequest, limit: Int = bodyLimit) async throws -> JSONObject {
        let bytes = try await request.body.collect(limit: limit)
        return bytes.isEmpty ? [:] : try object(bytes)
    }

    static func object(_ bytes: [UInt8]) throws -> JSONObject {
        guard let object = try? JSON(parsing: bytes, depth: 16).objectValue else {
            throw ToolkitRefusal("INVALID_JSON")
        }
        return object
    }

    /// Returns the fields of a body, which is JSON if its header or its first byte says so, and a
    /// form otherwise.
    static func fields(_ request: HTTPServerRequest) async throws -> [String: String] {
        let bytes = try await request.body.collect(limit: bodyLimit)
        let isJSON = request.headers["Content-Type"]?.lowercased().hasPrefix("application/json") == true
        if isJSON || bytes.first == UInt8(ascii: "{") {
            let members = try object(bytes).members.compactMap { member in
                member.value.stringValue.map { (member.key, $0) }
            }
            return Dictionary(members, uniquingKeysWith: { first, _ in first })
        }
        guard let text = String(validating: bytes, as: UTF8.self), let items = HTTPTarget.items(of: text) else {
            throw ToolkitRefusal("INVALID_REQUEST")
        }
        return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    }
}
