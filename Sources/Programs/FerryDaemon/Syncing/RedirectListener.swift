import Cryptography
import HTTPMessages
import HTTPServer

/// Waits on loopback for the browser that comes back from an OpenID provider (RFC 8252 section 7.3).
final class RedirectListener: Sendable {
    /// The target of the redirect.
    let url: String
    private let server: HTTPServer
    private let codes: AsyncThrowingStream<String, any Error>

    /// Starts to listen on a free port.
    ///
    /// - Parameter state: The state that the browser must bring, so that no other page can.
    init(state: String) throws {
        let (codes, code) = AsyncThrowingStream.makeStream(of: String.self)
        self.codes = codes
        server = HTTPServer(
            .tcp(host: "127.0.0.1", port: 0),
            handler: { request in
                let given = request.target[query: "state"] ?? ""
                guard request.method == .get, request.target.path == "/callback",
                    ConstantTime.areEqual(Array(given.utf8), Array(state.utf8))
                else { return .text(.notFound, "This is not the page that was expected.\n") }
                if let value = request.target[query: "code"], !value.isEmpty {
                    code.yield(value)
                    code.finish()
                    return .text(.ok, "You can close this page, and go on in the terminal.\n")
                }
                code.finish(throwing: RedirectRefusal())
                return .text(.ok, "You are not signed in.\n")
            })
        guard case .tcp(_, let port) = try server.start() else { throw RedirectRefusal() }
        url = "http://127.0.0.1:\(port)/callback"
    }

    /// Returns the code that the browser brings.
    ///
    /// - Throws: `RedirectRefusal` if the user or the provider declined.
    func code() async throws -> String {
        for try await code in codes { return code }
        throw CancellationError()
    }

    func close() async { await server.stop(within: .seconds(1)) }
}

/// The user or the provider has declined a sign-in.
struct RedirectRefusal: Error {}
