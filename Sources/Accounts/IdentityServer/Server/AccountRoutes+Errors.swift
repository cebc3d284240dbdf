import HTTPMessages
import IdentityProtocol
import JSON

extension AccountRoutes {
    /// A request that does not even reach the accounts, in the Identity Toolkit's word for it.
    struct Refusal: Error {
        let name: String

        init(_ name: String) { self.name = name }
    }

    /// The error envelope of the Identity Toolkit; clients take `message` apart at ` : `.
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
        if let refusal = error as? Refusal { return Self.error(.badRequest, refusal.name) }
        if (error as? HTTPError)?.code == .bodyTooLarge { return Self.error(.contentTooLarge, "INVALID_REQUEST") }
        guard let error = error as? IdentityError, let name = error.code.toolkitName else {
            return Self.error(.internalServerError, "INTERNAL_ERROR")
        }
        let code = error.code
        let text = explained.contains(code) ? "\(name) : \(error.message)" : name
        return Self.error(code == .tooManyAttempts ? .tooManyRequests : .badRequest, text)
    }

    /// The errors whose message follows the name, as ` : ` and text: what a person has to do cannot
    /// be told from the name.
    private static let explained: Set<IdentityError.Code> = [
        .tooManyAttempts, .notAllowed, .signUpRestricted, .invalidCode,
    ]
}
