extension IdentityError.Code {
    /// The error's name in the Identity Toolkit's REST, with the explanation that production adds; nil if it has none.
    package var toolkitName: String? { Self.toolkitNames[self] }

    /// The error that an answer of an Identity Toolkit server names; nil for a name that is not known.
    ///
    /// - Parameter name: the first word of the answer's `message`.
    package init?(toolkitName name: String) {
        switch name {
        case "INVALID_REFRESH_TOKEN":
            self = .tokenExpired
            return
        case "INVALID_CUSTOM_TOKEN", "CREDENTIAL_MISMATCH":
            self = .badProviderCredential
            return
        case "EXPIRED_OOB_CODE":
            self = .invalidCode
            return
        default: break
        }
        let known = Self.toolkitNames.first { $0.value.split(separator: " ").first.map(String.init) == name }
        guard let known else { return nil }
        self = known.key
    }

    private static let toolkitNames: [IdentityError.Code: String] = [
        .invalidCredentials: "INVALID_LOGIN_CREDENTIALS", .emailExists: "EMAIL_EXISTS",
        .invalidEmail: "INVALID_EMAIL", .weakPassword: "WEAK_PASSWORD : Password should be at least 6 characters",
        .userDisabled: "USER_DISABLED", .userNotFound: "USER_NOT_FOUND", .invalidToken: "INVALID_ID_TOKEN",
        .tokenExpired: "TOKEN_EXPIRED", .loginTooOld: "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
        .tooManyAttempts: "TOO_MANY_ATTEMPTS_TRY_LATER", .notAllowed: "OPERATION_NOT_ALLOWED",
        .invalidRequest: "INVALID_REQUEST", .signUpRestricted: "ADMIN_ONLY_OPERATION",
        .invalidCode: "INVALID_OOB_CODE", .alreadyLinked: "FEDERATED_USER_ID_ALREADY_LINKED",
        .badProviderCredential: "INVALID_IDP_RESPONSE", .authorizationPending: "AUTHORIZATION_PENDING",
    ]
}
