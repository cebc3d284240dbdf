import DocumentStore
import GRPC
import Identity

/// Finds the caller that a call's `authorization` header stands for.
struct DocumentAuthenticator: Sendable {
    let authenticator: Authenticator
    /// Lets calls without a header through as `.nobody`, whom the rules then refuse, as Google's emulator does.
    let isEmulator: Bool
    let quotas: AccountQuotas

    /// Yields when a token that was good may no longer be.
    var changes: AsyncStream<Void> { authenticator.revocationChanges }

    /// Returns the caller that the metadata of a call proves.
    ///
    /// - Throws: the status that the call ends with before any message of it is taken.
    func caller(of metadata: GRPCMetadata) throws(GRPCStatus) -> Caller {
        let identification: Authenticator.Identification
        do {
            identification = try authenticator.identify(authorization: metadata["authorization"])
        } catch {
            throw GRPCStatus(DocumentStoreError(.unauthenticated, error.message))
        }
        switch identification {
        case .administrator: return .administrator
        case .user(let token):
            return .user(id: token.userID, expires: isEmulator ? nil : token.expiresAt, address: token.email)
        case .nobody:
            guard isEmulator else { throw GRPCStatus(DocumentStoreError.unauthenticated) }
            return .nobody
        }
    }

    /// Returns the caller that the transport found for a call, and counts the call for the caller's account.
    ///
    /// - Throws: `DocumentStoreError` with `.resourceExhausted` for an account that makes too many requests.
    func admit(_ call: GRPCServerCall) throws -> Caller {
        guard let caller = call.caller as? Caller else { throw DocumentStoreError.unauthenticated }
        if !isEmulator, case .user(let id, _, _) = caller, !quotas.admit(id) {
            throw DocumentStoreError.tooManyRequests(quotas.requestsPerSecond(of: id))
        }
        return caller
    }
}

extension DocumentStoreError {
    static let unauthenticated = DocumentStoreError(.unauthenticated, "Missing or invalid authentication.")
    static let tokenExpired = DocumentStoreError(
        .unauthenticated, "The ID token has expired. Get a fresh one and try again.")
    static let permissionDenied = DocumentStoreError(.permissionDenied, "Missing or insufficient permissions.")
}
