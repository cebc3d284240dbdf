/// A failure with an account, a token, or the connection to the identity server.
package struct IdentityError: Error, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case invalidCredentials, emailExists, invalidEmail, weakPassword, userDisabled, userNotFound
            case notSignedIn, invalidToken, tokenExpired, loginTooOld, tooManyAttempts, notAllowed, invalidRequest
            case signUpRestricted, invalidCode, alreadyLinked, badProviderCredential, authorizationPending
            case offline, protocolViolation, damagedFile, internalFailure
        }
        private let value: Value

        /// The e-mail or the password is wrong; which one is not told.
        package static let invalidCredentials = Code(value: .invalidCredentials)
        package static let emailExists = Code(value: .emailExists)
        package static let invalidEmail = Code(value: .invalidEmail)
        package static let weakPassword = Code(value: .weakPassword)
        package static let userDisabled = Code(value: .userDisabled)
        package static let userNotFound = Code(value: .userNotFound)
        package static let notSignedIn = Code(value: .notSignedIn)
        /// Damaged, issued by another server, or for another project.
        package static let invalidToken = Code(value: .invalidToken)
        /// Expired, or revoked by a new password.
        package static let tokenExpired = Code(value: .tokenExpired)
        /// The change needs a fresh sign-in.
        package static let loginTooOld = Code(value: .loginTooOld)
        package static let tooManyAttempts = Code(value: .tooManyAttempts)
        package static let notAllowed = Code(value: .notAllowed)
        /// The server makes no new accounts, or only by invitation; the message says which.
        package static let signUpRestricted = Code(value: .signUpRestricted)
        /// An invitation, or a code that sets a password, that is unknown, used or expired.
        package static let invalidCode = Code(value: .invalidCode)
        /// An account at an OpenID provider signs in to another account.
        package static let alreadyLinked = Code(value: .alreadyLinked)
        /// A code or token of an OpenID provider is not valid.
        package static let badProviderCredential = Code(value: .badProviderCredential)
        /// The user has not answered an OpenID provider yet.
        package static let authorizationPending = Code(value: .authorizationPending)
        package static let invalidRequest = Code(value: .invalidRequest)
        /// The server cannot be reached or is not well.
        package static let offline = Code(value: .offline)
        /// Something answered that is no identity server.
        package static let protocolViolation = Code(value: .protocolViolation)
        /// A file of keys or sessions cannot be used.
        package static let damagedFile = Code(value: .damagedFile)
        package static let internalFailure = Code(value: .internalFailure)

        /// Whether the same call may succeed later without a change.
        package var isTransient: Bool {
            switch value {
            case .offline, .tooManyAttempts, .internalFailure: true
            default: false
            }
        }

        /// Whether only a new sign-in by the user helps.
        package var needsLogin: Bool {
            switch value {
            case .notSignedIn, .userDisabled, .userNotFound, .invalidToken, .tokenExpired, .loginTooOld, .damagedFile:
                true
            default: false
            }
        }

        package var description: String { value.rawValue }
    }

    package let code: Code
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }
}
