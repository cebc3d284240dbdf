import Foundation
import GRPCClient
import GRPCProtocol
import GRPCServer
import GRPCTestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct TLSTests {
    /// A new self-signed certificate for `localhost` and `127.0.0.1`.
    private struct Certificate {
        let chain: String
        let key: String

        init() throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "grpc-tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let openssl = Process()
            openssl.executableURL = URL(filePath: "/usr/bin/openssl")
            openssl.currentDirectoryURL = directory
            openssl.arguments =
                ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
                + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
                + ["-keyout", "key.pem", "-out", "chain.pem"]
            openssl.standardError = FileHandle.nullDevice
            try openssl.run()
            openssl.waitUntilExit()
            chain = try String(contentsOf: directory.appending(path: "chain.pem"), encoding: .utf8)
            key = try String(contentsOf: directory.appending(path: "key.pem"), encoding: .utf8)
        }
    }

    private let certificate: Certificate
    private let server: GRPCServerConfiguration

    init() throws {
        certificate = try Certificate()
        server = GRPCServerConfiguration(
            security: .tls(certificateChain: certificate.chain, privateKey: certificate.key))
    }

    @Test func `calls go over TLS with a bearer token of the caller`() async throws {
        let routes = GRPCRoutes.unary { _, call in Array((call.metadata["authorization"] ?? "").utf8) }
        let client = GRPCChannelConfiguration(security: .tls(roots: certificate.chain))
        try await withServer(server, channel: client, routes: routes) { channel in
            let options = GRPCCallOptions(metadata: ["authorization": "Bearer token"])
            let answer = try await channel.unary("/test/Call", [], options: options)
            #expect(String(decoding: answer, as: UTF8.self) == "Bearer token")
        }
    }

    @Test func `a server whose certificate is not trusted is UNAVAILABLE`() async throws {
        let stranger = try Certificate()
        for roots in [stranger.chain, nil] {
            let client = GRPCChannelConfiguration(security: .tls(roots: roots))
            try await withServer(server, channel: client) { channel in
                #expect(await status { _ = try await channel.unary("/test.Echo/Unary", []) }.code == .unavailable)
            }
        }
    }

    @Test func `the certificate must be for the server's name`() async throws {
        let wrong = GRPCChannelConfiguration(security: .tls(roots: certificate.chain, serverName: "example.org"))
        try await withServer(server, channel: wrong) { channel in
            #expect(await status { _ = try await channel.unary("/test.Echo/Unary", []) }.code == .unavailable)
        }
        let right = GRPCChannelConfiguration(security: .tls(roots: certificate.chain, serverName: "localhost"))
        try await withServer(server, channel: right) { channel in
            let answer = try await channel.unary("/test.Echo/Unary", [1])
            #expect(answer == [1])
        }
    }

    @Test func `a plaintext client gets nowhere with a TLS server, nor the other way round`() async throws {
        try await withServer(server) { channel in
            #expect(await status { _ = try await channel.unary("/test.Echo/Unary", []) }.code == .unavailable)
        }
        let client = GRPCChannelConfiguration(security: .tls(roots: certificate.chain))
        try await withServer(channel: client) { channel in
            #expect(await status { _ = try await channel.unary("/test.Echo/Unary", []) }.code == .unavailable)
        }
    }

    @Test func `a certificate that cannot be used stops the server's start`() throws {
        let other = try Certificate()
        for (chain, key) in [
            ("nonsense", certificate.key), (certificate.chain, "nonsense"), (certificate.chain, other.key), ("", ""),
        ] {
            let configuration = GRPCServerConfiguration(security: .tls(certificateChain: chain, privateKey: key))
            let error = #expect(throws: GRPCServerError.self) {
                try GRPCServer(configuration, routes: .echo).start()
            }
            #expect(error?.code == .badCertificate, "\(error.map(\.message) ?? "")")
        }
    }
}
