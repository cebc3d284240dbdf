import Cryptography
import SystemIO

/// A proxy that tunnels connections to a server with HTTP's CONNECT method (RFC 9110 section
/// 9.3.6).
struct HTTPProxy: Hashable, Sendable {
    let endpoint: Endpoint
    /// The value of `Proxy-Authorization`, if the proxy's URL names a user.
    let authorization: String?

    /// Returns the proxy for a server, as the gRPC libraries choose it from the environment.
    ///
    /// The proxy is the first of `grpc_proxy`, `https_proxy` and `http_proxy` that is set, unless
    /// `no_grpc_proxy` or `no_proxy` names the server's host or a parent domain. Servers on this
    /// machine have no proxy.
    static func of(_ endpoint: Endpoint, environment: (String) -> String?) -> HTTPProxy? {
        func first(_ names: String...) -> String? { names.lazy.compactMap(environment).first { !$0.isEmpty } }
        guard !endpoint.isLocal,
            let address = first("grpc_proxy", "https_proxy", "http_proxy")
        else { return nil }
        if let exceptions = first("no_grpc_proxy", "no_proxy"), isExcepted(endpoint.host, exceptions) { return nil }
        return HTTPProxy(address)
    }

    private static func isExcepted(_ host: String, _ exceptions: String) -> Bool {
        let host = host.lowercased()
        let address = IPAddress(host)
        return exceptions.lowercased().split(whereSeparator: { $0 == "," || $0 == " " }).contains { exception in
            if exception == "*" || exception == host { return true }
            if let address { return IPNetwork(String(exception))?.contains(address) ?? false }
            let domain = exception.drop { $0 == "." }
            return !domain.isEmpty && (host == domain || host.hasSuffix(".\(domain)"))
        }
    }

    /// Parses `http://user:password@host:port/`, of which only the host is required. Returns nil
    /// for other schemes.
    init?(_ address: String) {
        var rest = address[...]
        if let scheme = rest.firstRange(of: "://") {
            guard rest[..<scheme.lowerBound].lowercased() == "http" else { return nil }
            rest = rest[scheme.upperBound...]
        }
        rest = rest.prefix { $0 != "/" }
        if let at = rest.lastIndex(of: "@") {
            let user = PercentDecoding.decoded(Array(rest[..<at].utf8))
            authorization = "Basic \(Base64.encode(user))"
            rest = rest[rest.index(after: at)...]
        } else {
            authorization = nil
        }
        let hasPort = rest.last != "]" && rest.contains(":")
        guard let endpoint = Endpoint(hasPort ? String(rest) : "\(rest):80") else { return nil }
        self.endpoint = endpoint
    }
}

/// A request for a tunnel through a proxy, and the parser of its response. A pure state machine.
struct ProxyRequest {
    enum Outcome: Equatable {
        /// The response is not complete.
        case unfinished
        /// The tunnel is open; the bytes that follow are the server's.
        case open
        case refused(String)
    }

    /// The bytes to send.
    let bytes: [UInt8]
    private var answer: [UInt8] = []

    /// The maximum size of a response in bytes.
    static let limit = 16 << 10

    init(_ proxy: HTTPProxy, to server: Endpoint) {
        let authorization = proxy.authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        let authority = server.authority
        bytes = Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(authorization)\r\n".utf8)
    }

    /// Adds bytes of the response.
    ///
    /// - Returns: The number of bytes that belong to the response, and the outcome.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> (used: Int, Outcome) {
        let end = Array("\r\n\r\n".utf8)
        for (index, byte) in bytes.enumerated() {
            answer.append(byte)
            if answer.suffix(4).elementsEqual(end) { return (index + 1, outcome) }
            if answer.count >= Self.limit { return (index + 1, .refused("its answer is too long")) }
        }
        return (bytes.count, .unfinished)
    }

    /// The outcome that the status line gives. Of a refusal, only the status code is repeated.
    private var outcome: Outcome {
        let line = String(decoding: answer.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        let parts = line.split(separator: " ")
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), let status = UInt16(parts[1]) else {
            return .refused("its answer is not HTTP")
        }
        return (200..<300).contains(status) ? .open : .refused("it answers with the status \(status)")
    }
}
