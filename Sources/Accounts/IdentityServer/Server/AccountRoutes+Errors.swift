import HTTPMessages
import IdentityProtocol
import JSON

extension AccountRoutes {
    /// The refusal of a request that does not reach the accounts, with the Identity Toolkit's name
    /// of the error.
    struct Refusal: Error {
        let name: String

        init(_ name: String) { self.name = name }
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
        if let refusal = error as? Refusal {
            if refusal.name == "METHOD_NOT_ALLOWED" { return Self.error(.methodNotAllowed, refusal.name) }
            return Self.error(.badRequest, refusal.name)
        }
        if (error as? HTTPError)?.code == .bodyTooLarge { return Self.error(.contentTooLarge, "INVALID_REQUEST") }
        if let error = error as? IdentityError, error.code == .offline {
            return Self.error(.serviceUnavailable, "INVALID_IDP_RESPONSE : \(error.message)")
        }
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
}
