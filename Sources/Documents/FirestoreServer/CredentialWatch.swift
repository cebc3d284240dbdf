import DocumentStore
import GRPCProtocol
import GRPCServer
import SystemIO

/// Watches the credential of a call for as long as its stream is open.
struct CredentialWatch: Sendable {
    let caller: Caller
    let call: GRPCServerCall
    let authenticator: any CallerAuthenticator
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    let environment: Environment

    /// Ends a stream, by throwing, when the caller's token does, so that the client comes back with
    /// a new one, or when the account is disabled or its sessions are ended.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let changes = authenticator.changes
                // The credential may have been revoked since the call began.
                _ = try authenticator.identify(authorization: call.metadata["authorization"])
                for await _ in changes {
                    _ = try authenticator.identify(authorization: call.metadata["authorization"])
                }
            }
            if case .user(_, let expires?, _, _) = caller {
                group.addTask {
                    try await environment.sleep(for: .seconds(max(0, expires - now())))
                    throw DocumentStoreError.tokenExpired
                }
            }
            // Neither returns before the call is over.
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
