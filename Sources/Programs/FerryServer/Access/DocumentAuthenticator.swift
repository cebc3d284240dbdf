import DocumentStore
import GRPCProtocol
import Identity

/// Says who a call's `authorization` header stands for.
struct DocumentAuthenticator: Sendable {
    let authenticator: Authenticator
    /// Lets calls without a header through as nobody's, whom the rules then refuse, as Google's emulator does.
    let isEmulator: Bool
    let limits: AccountQuotas

    /// Yields when a token that was good may no longer be.
    var changes: AsyncStream<Void> { authenticator.revocationChanges }

    /// Returns who makes a call, and counts the call for the caller's account.
    ///
    /// - Throws: `DocumentStoreError` with `.unauthenticated` for a token that is not valid, `.resourceExhausted` for an account
    ///   that makes too many requests.
    func caller(authorization: String?) throws -> Caller {
        let caller = try identify(authorization: authorization)
        if !isEmulator, case .user(let id, _, _) = caller, !limits.admit(id) {
            throw DocumentStoreError.tooManyRequests(limits.requestsPerSecond(of: id))
        }
        return caller
    }

    /// Returns who a call's `authorization` header stands for.
    ///
    /// - Throws: `DocumentStoreError` with `.unauthenticated` for a token that is not valid.
    private func identify(authorization: String?) throws -> Caller {
        guard let authorization else {
            guard isEmulator else { throw DocumentStoreError.unauthenticated }
            return .nobody
        }
        do {
            if case .administrator = try authenticator.requester(authorization: authorization) { return .administrator }
            let token = try authenticator.verify(String(authorization.split(separator: " ").last ?? ""))
            return .user(id: token.userID, expires: isEmulator ? nil : token.expiresAt, address: token.email)
        } catch {
            throw DocumentStoreError(.unauthenticated, error.message)
        }
    }
}

extension DocumentAuthenticator {
    /// The account that a call counts for in the limits of the transport, from its metadata; nil for nobody's call.
    /// - Throws: the status that the call ends with before any message of it is taken.
    func account(of metadata: GRPCMetadata) throws(GRPCStatus) -> String? {
        do {
            switch try identify(authorization: metadata["authorization"]) {
            case .administrator: return "administrator"
            case .user(let id, _, _): return "user \(id)"
            case .nobody: return nil
            }
        } catch let error as DocumentStoreError {
            throw GRPCStatus(error)
        } catch {
            throw GRPCStatus(.unauthenticated, "Missing or invalid authentication.")
        }
    }
}

extension DocumentStoreError {
    static let unauthenticated = DocumentStoreError(.unauthenticated, "Missing or invalid authentication.")
    static let tokenExpired = DocumentStoreError(
        .unauthenticated, "The ID token has expired. Get a fresh one and try again.")
    static let permissionDenied = DocumentStoreError(.permissionDenied, "Missing or insufficient permissions.")
}
