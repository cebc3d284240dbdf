import DocumentStore
package import GRPC

/// Identifies the callers of the service, and limits how many requests each may make.
package protocol CallerAuthenticator: Sendable {
    /// Yields when a credential that was accepted may have been revoked.
    var changes: AsyncStream<Void> { get }

    /// Returns the caller that a call's `authorization` header stands for.
    ///
    /// - Throws: `DocumentStoreError` with `.unauthenticated` for a credential that is not valid.
    func identify(authorization: String?) throws -> Caller

    /// Counts a request for the caller's account.
    ///
    /// - Throws: `DocumentStoreError` with `.resourceExhausted` for an account that makes too many requests.
    func admit(_ caller: Caller) throws
}

extension CallerAuthenticator {
    /// Identifies the caller of a call and counts the call.
    ///
    /// - Throws: what `identify(authorization:)` and `admit(_:)` throw.
    func caller(authorization: String?) throws -> Caller {
        let caller = try identify(authorization: authorization)
        try admit(caller)
        return caller
    }

    /// Returns the account that the transport counts a call for, from the call's metadata; nil for a call of nobody.
    ///
    /// - Throws: the status that the call ends with before any message of it is taken.
    package func account(of metadata: GRPCMetadata) throws(GRPCStatus) -> String? {
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
