import CGRPC

extension ServerCore {
    static func arguments(_ configuration: GRPCServerConfiguration) -> CoreArguments {
        var arguments = CoreArguments()
        // Else a second server on the same port would start and take a part of the connections.
        arguments.set(GRPC_ARG_ALLOW_REUSEPORT, false)
        arguments.set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limit: configuration.maximumReceiveSize)
        arguments.set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, limit: configuration.maximumSendSize)
        arguments.set(GRPC_ARG_MAX_METADATA_SIZE, configuration.maximumMetadataSize)
        arguments.set(GRPC_ARG_MAX_CONCURRENT_STREAMS, configuration.maximumStreamsPerConnection)
        // On a server `withoutCalls` also says that clients may ping without.
        arguments.set(configuration.keepalive, withoutCalls: true)
        arguments.set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, configuration.minimumPingInterval)
        arguments.set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, .seconds(20))
        arguments.set(GRPC_ARG_ENABLE_CHANNELZ, false)
        return arguments
    }

    /// Binds the configured address and returns the port.
    static func bind(
        _ server: OpaquePointer, _ configuration: GRPCServerConfiguration
    ) throws(GRPCServerError) -> Int {
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        let address = "\(host):\(configuration.port)"
        // The core would take a larger number modulo 65,536.
        guard (0...65_535).contains(configuration.port) else {
            throw GRPCServerError(
                code: .addressNotAvailable,
                message: "Cannot listen on \(address): a port is a number from 0 to 65535.")
        }
        let credentials = credentials(configuration.security)
        defer { grpc_server_credentials_release(credentials) }
        let (port, errors) = Core.loggingErrors { grpc_server_add_http2_port(server, address, credentials) }
        guard port != 0 else {
            let seen = BindProbe.errorNumber(host: configuration.host, port: configuration.port)
            let probed = seen.map { "{errno:\($0), probed}" } ?? ""
            throw GRPCServerError(binding: address, errors: errors.contains("errno:") ? errors : errors + probed)
        }
        return Int(port)
    }

    private static func credentials(
        _ security: GRPCServerConfiguration.Security
    ) -> OpaquePointer? {
        switch security {
        case .plaintext:
            cgrpc_insecure_server_credentials()
        case .tls(let certificateChain, let privateKey):
            certificateChain.withCString { certificateChain in
                privateKey.withCString { privateKey in
                    var pair = grpc_ssl_pem_key_cert_pair(private_key: privateKey, cert_chain: certificateChain)
                    return grpc_ssl_server_credentials_create_ex(
                        nil, &pair, 1, GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE, nil)
                }
            }
        }
    }
}
