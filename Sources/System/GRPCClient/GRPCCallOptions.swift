package import GRPCProtocol

/// The options of a call.
package struct GRPCCallOptions: Sendable {
    /// The headers, for example `["authorization": "Bearer …"]`.
    package var metadata: GRPCMetadata
    /// The time limit of the whole call, which is sent to the server; nil for no limit. At the
    /// limit the call ends with `deadlineExceeded`.
    package var timeout: Duration?
    /// Whether to wait for a connection instead of failing with `unavailable` while there is none.
    package var waitForReady: Bool

    package init(metadata: GRPCMetadata = [:], timeout: Duration? = nil, waitForReady: Bool = false) {
        self.metadata = metadata
        self.timeout = timeout
        self.waitForReady = waitForReady
    }
}
