import HTTPMessages
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
        guard let error = error as? IdentityError, let name = names[error.code] else {
            return Self.error(.internalServerError, "INTERNAL_ERROR")
        }
        let code = error.code
        let text = explained.contains(code) ? "\(name) : \(error.message)" : name
        return Self.error(code == .tooManyAttempts ? .tooManyRequests : .badRequest, text)
    }

    /// The words of the Identity Toolkit, also read by the client.
    static let names: [IdentityError.Code: String] = [
        .invalidCredentials: "INVALID_LOGIN_CREDENTIALS", .emailExists: "EMAIL_EXISTS",
        .invalidEmail: "INVALID_EMAIL", .weakPassword: "WEAK_PASSWORD : Password should be at least 6 characters",
        .userDisabled: "USER_DISABLED", .userNotFound: "USER_NOT_FOUND", .invalidToken: "INVALID_ID_TOKEN",
        .tokenExpired: "TOKEN_EXPIRED", .loginTooOld: "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
        .tooManyAttempts: "TOO_MANY_ATTEMPTS_TRY_LATER", .notAllowed: "OPERATION_NOT_ALLOWED",
        .invalidRequest: "INVALID_REQUEST", .signUpRestricted: "ADMIN_ONLY_OPERATION",
        .invalidCode: "INVALID_OOB_CODE",
    ]

    /// The errors whose message follows the name, as ` : ` and text: what a person has to do cannot be told from the name.
    private static let explained: Set<IdentityError.Code> = [
        .tooManyAttempts, .notAllowed, .signUpRestricted, .invalidCode,
    ]
}
