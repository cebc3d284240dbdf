import AccountClient
import Control
import HTTPClient
import HTTPMessages
import JSON

/// A client of the discovery endpoint, which describes the server at a URL.
struct Discovery: Sendable {
    let http: HTTPClient

    private static let timeouts = HTTPRequest.Timeouts(connect: .seconds(10), stall: .seconds(15), total: .seconds(30))

    static let certificateHint =
        "Check the address and the server's certificate; a self-signed one needs 'tls-ca' in ferryd.yaml."

    /// Returns the URL in its normal form: without slashes at its end, and with scheme and host in
    /// lower case.
    static func normalized(_ url: String) throws(ControlError) -> String {
        var text = url
        while text.hasSuffix("/") { text.removeLast() }
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()), !parts[1].isEmpty,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !text.contains(where: { "?#@".contains($0) })
        else {
            throw ControlError(
                .invalidArgument, "'\(url)' is not the URL of a server.",
                hint: "It begins with http:// or https://, like the URL that ferry-server prints when it is ready.")
        }
        let host = parts[1].prefix { $0 != "/" }
        return "\(parts[0].lowercased())://\(host.lowercased())\(parts[1].dropFirst(host.count))"
    }

    /// Returns the description of the server at a URL.
    ///
    /// - Throws: `ControlError`, or `CancellationError`.
    func describe(_ url: String) async throws -> ServerDescription {
        let url = try Self.normalized(url)
        let nobody = ControlError(
            .invalidArgument, "The server at \(url) is not a Ferry server.",
            hint: "Give the URL that ferry-server prints when it is ready; its HTTP port, not the one for documents.")
        do {
            let request = HTTPRequest(.get, "\(url)/.well-known/ferry", timeouts: Self.timeouts)
            let response = try await http.send(request)
            let bytes = try await response.body.collect(limit: 64 << 10)
            guard response.status.rawValue < 500 else {
                throw ControlError(
                    .unavailable, "The server at \(url) answers \(response.status).",
                    hint: "Try again later.", isRetryable: true)
            }
            guard response.status.isSuccess, let json = try? JSON(parsing: bytes, depth: 8),
                let server = ServerDescription(url: url, discovery: json)
            else { throw nobody }
            return server
        } catch let error as HTTPError {
            if error.code == .insecure {
                throw ControlError(
                    .unavailable, "The connection to \(url) is not safe: \(error.message)",
                    hint: Self.certificateHint
                ).caused(by: error)
            }
            guard error.code.isTransient else { throw nobody.caused(by: error) }
            throw ControlError(
                .offline, "The server at \(url) cannot be reached: \(error.message)",
                hint: "Check the address, the network, and that ferry-server runs there.", isRetryable: true
            ).caused(by: error)
        }
    }
}
