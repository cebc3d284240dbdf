import DocumentStore
package import FirestoreServer
import IdentityProtocol
package import IdentityServer
import SecurityRules

/// Identifies the callers of the documents' service by their ID tokens, and enforces their quotas.
package struct DocumentAuthenticator: CallerAuthenticator {
    private let authenticator: Authenticator
    private let isEmulator: Bool
    private let quotas: AccountQuotas

    /// Creates an authenticator.
    ///
    /// - Parameter isEmulator: Whether to behave like Google's emulator: requests are not counted,
    ///   and calls without a header are accepted as those of no user, which the rules then refuse.
    package init(_ authenticator: Authenticator, quotas: AccountQuotas, isEmulator: Bool) {
        self.authenticator = authenticator
        self.quotas = quotas
        self.isEmulator = isEmulator
    }

    package var revokedAccounts: AsyncStream<Set<String>> { authenticator.revokedAccounts }

    package func admit(_ caller: Caller) throws {
        guard !isEmulator, case .user(let id, _, _, _) = caller, !quotas.admit(id) else { return }
        throw DocumentStoreError.tooManyRequests(quotas.requestsPerSecond(of: id))
    }

    package func identify(authorization: String?) throws -> Caller {
        let identification: Authenticator.Identification
        do { identification = try authenticator.identify(authorization: authorization) } catch {
            throw DocumentStoreError(.unauthenticated, error.message)
        }
        switch identification {
        case .administrator: return .administrator
        case .user(let token):
            return .user(
                id: token.userID, expires: isEmulator ? nil : token.expiresAt, address: token.email,
                claims: token.claims)
        case .nobody:
            guard isEmulator else { throw DocumentStoreError.unauthenticated }
            return .nobody
        }
    }
}
