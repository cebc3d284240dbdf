import GRPCProtocol
import GRPCServer
import HTTPMessages
import HTTPServer
import ServerData
import SystemIO

/// The certificate chain and key of both ports, read from their files.
struct Certificate: Sendable, Equatable {
    private let chain: String
    private let key: String

    /// Reads the files.
    ///
    /// - Throws: `ServerError` with `.configuration` for files that cannot be read or are not PEM.
    init(_ files: ServerConfiguration.TLS) throws {
        chain = try Self.read(files.certificate, what: "certificate")
        key = try Self.read(files.key, what: "private key")
    }

    private static func read(_ path: String, what: String) throws -> String {
        let text: String
        do {
            text = String(decoding: try FileSystem.read(path, limit: 1 << 20), as: UTF8.self)
        } catch {
            throw ServerError(.configuration, "The TLS \(what) cannot be used: \(error).", cause: error)
        }
        guard text.contains("-----BEGIN ") else {
            throw ServerError(.configuration, "The TLS \(what) \(path) is not a PEM file.")
        }
        return text
    }

    var http: HTTPServer.TLS { HTTPServer.TLS(certificates: chain, key: key) }

    var grpc: GRPCServerConfiguration.Security { .tls(certificateChain: chain, privateKey: key) }
}
