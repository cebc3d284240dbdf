import DocumentStore
import Identity

/// Says who a call's `authorization` header stands for.
struct DocumentAuthenticator: Sendable {
    let authenticator: Authenticator
    /// Lets calls without a header through as nobody's, whom the rules then refuse, as Google's emulator does.
    let isEmulator: Bool

    /// Yields when a token that was good may no longer be.
    var changes: AsyncStream<Void> { authenticator.revocationChanges }

    /// - Throws: `DocumentStoreError` with `.unauthenticated` for a token that is not valid.
    func caller(authorization: String?) throws -> Caller {
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

extension DocumentStoreError {
    static let unauthenticated = DocumentStoreError(.unauthenticated, "Missing or invalid authentication.")
    static let tokenExpired = DocumentStoreError(
        .unauthenticated, "The ID token has expired. Get a fresh one and try again.")
    static let permissionDenied = DocumentStoreError(.permissionDenied, "Missing or insufficient permissions.")
}
