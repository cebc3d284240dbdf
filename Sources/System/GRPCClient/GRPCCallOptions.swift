package import GRPCProtocol

/// What a caller may say about one call.
package struct GRPCCallOptions: Sendable {
    /// Headers, for example `["authorization": "Bearer …"]`.
    package var metadata: GRPCMetadata
    /// Time the whole call may take, which the server is told; nil is no limit. Afterwards the call ends with
    /// `deadlineExceeded`.
    package var timeout: Duration?
    /// Whether to wait for a connection rather than to fail with `unavailable` while there is none.
    package var waitForReady: Bool

    package init(metadata: GRPCMetadata = [:], timeout: Duration? = nil, waitForReady: Bool = false) {
        self.metadata = metadata
        self.timeout = timeout
        self.waitForReady = waitForReady
    }
}
