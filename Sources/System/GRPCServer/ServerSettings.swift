/// The constant settings that the connections and calls of a server share.
final class ServerSettings: Sendable {
    let configuration: GRPCServerConfiguration
    /// nil for a server without TLS.
    let tls: TLSContext?
    let usages = UsageRegistry()

    init(_ configuration: GRPCServerConfiguration, tls: TLSContext?) {
        self.configuration = configuration
        self.tls = tls
    }
}
