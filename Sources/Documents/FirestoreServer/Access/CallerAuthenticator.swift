import DocumentStore
package import GRPCProtocol
import GRPCServer

/// Identifies the callers of the service, and limits how many requests each may make.
package protocol CallerAuthenticator: Sendable {
    /// A stream of the accounts (`Caller.account`) of which credentials that were accepted may have been revoked.
    var revokedAccounts: AsyncStream<Set<String>> { get }

    /// Returns the caller that an `authorization` header identifies.
    ///
    /// - Throws: `DocumentStoreError` with `.unauthenticated` for a credential that is not valid.
    func identify(authorization: String?) throws -> Caller

    /// Counts a request for the caller's account.
    ///
    /// - Throws: `DocumentStoreError` with `.resourceExhausted` for an account that makes too many requests.
    func admit(_ caller: Caller) throws
}

extension CallerAuthenticator {
    /// Returns the caller that the metadata of a call identifies, for the transport's `authorize`
    /// hook.
    ///
    /// - Throws: The status with which the call ends, before any of its messages is read.
    package func caller(of metadata: GRPCMetadata) throws(GRPCStatus) -> Caller {
        do {
            return try identify(authorization: metadata["authorization"])
        } catch let error as DocumentStoreError {
            throw GRPCStatus(error)
        } catch {
            throw GRPCStatus(.unauthenticated, "Missing or invalid authentication.")
        }
    }

    /// Returns the caller that the transport has identified for a call, and counts the call for the
    /// caller's account.
    ///
    /// - Throws: The errors of `admit(_:)` for a caller.
    func admit(_ call: GRPCServerCall) throws -> Caller {
        guard let caller = call.caller as? Caller else { throw DocumentStoreError.unauthenticated }
        try admit(caller)
        return caller
    }
}
