import ServerData
import SystemIO

/// The results of `ferry-server setup`: the configuration file, and the address for machines.
struct SetupPlan: Sendable, Hashable {
    /// The URL under which machines reach the server; nil: only this machine does.
    var address: WebAddress?
    /// The server's own certificate; nil: none, or a proxy has one.
    var tls: ServerConfiguration.TLS?
    /// Whether other machines may be served without TLS.
    var allowsPlaintext = false
    /// The data directory; nil: that of the service.
    var data: String?

    /// The port that is served where the address names none; the service may not take those below 1024.
    static let port = 7441
    private static let documents = 7440
    private static let credentials = "/run/credentials/ferry-server.service"

    /// Creates the plan for an address.
    ///
    /// - Throws: `ServerError` with `.configuration` if the address and the certificate do not fit.
    init(url: String?, tls: ServerConfiguration.TLS?, allowsPlaintext: Bool, data: String?) throws {
        (self.tls, self.allowsPlaintext, self.data) = (tls, allowsPlaintext, data)
        guard let url else {
            guard tls == nil else {
                throw ServerError(.configuration, "A certificate needs the address that it is for: https://NAME.")
            }
            return
        }
        guard let address = WebAddress(url) else {
            throw ServerError(
                .configuration, "'\(url)' is no address of a server, such as https://tasks.example.org.")
        }
        self.address = address
        guard address.isSecure || tls == nil else {
            throw ServerError(.configuration, "With a certificate the address begins with https://, not '\(url)'.")
        }
        guard address.isSecure || address.address.isLoopback || allowsPlaintext else {
            throw ServerError(
                .configuration,
                "Over \(url) passwords could be read on the way. Give an https:// address, or --insecure where the network "
                    + "itself is private or encrypted.")
        }
        guard listensItself, !isDefaultPort, address.address.port < 1024 else { return }
        throw ServerError(
            .configuration,
            "The service cannot serve port \(address.address.port). Name one from 1024, or leave the port out for \(Self.port)."
        )
    }

    /// Whether other machines reach the server itself, not a proxy before it.
    private var listensItself: Bool { tls != nil || address.map { !$0.isSecure && !$0.address.isLoopback } ?? false }

    private var isDefaultPort: Bool { address.map { $0.address.port == ($0.isSecure ? 443 : 80) } ?? true }

    private var servedPort: Int { isDefaultPort ? Self.port : address?.address.port ?? Self.port }

    /// The URL for `ferry setup` on each machine.
    var loginURL: String {
        guard let address else { return "http://127.0.0.1:\(Self.port)" }
        // A proxy serves the address as it is.
        guard listensItself || !address.isSecure else { return address.description }
        let place = ListenAddress(host: address.address.host, port: servedPort)
        return "\(address.isSecure ? "https" : "http")://\(place)"
    }

    /// The text of the configuration file.
    ///
    /// - Parameter usesCredentials: Whether systemd hands over the certificate and its key; see `dropIn`.
    func configuration(usesCredentials: Bool) -> String {
        var lines = [
            "# Written by 'ferry-server setup'. 'man ferry-server' has all keys.", Self.addressMark + loginURL,
        ]
        if let data { lines.append("data: \(Self.quoted(data))") }
        if listensItself {
            lines += ["http: 0.0.0.0:\(servedPort)", "documents: 0.0.0.0:\(Self.documents)"]
        } else if let address, address.isSecure {
            lines.append("url: \(address)")
            lines.append("# The proxy on this machine, which appends to X-Forwarded-For.")
            lines.append("trusted-proxy: [127.0.0.1]")
        } else if let address {
            lines.append("http: \(ListenAddress(host: address.address.host, port: servedPort))")
        }
        if let tls {
            let certificate = usesCredentials ? "\(Self.credentials)/tls-cert" : tls.certificate
            lines.append("tls-cert: \(Self.quoted(certificate))")
            lines.append("tls-key: \(Self.quoted(usesCredentials ? "\(Self.credentials)/tls-key" : tls.key))")
        } else if listensItself {
            lines.append("insecure: true")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The addition to the unit with which systemd hands over files that only root reads; nil where there are none.
    var dropIn: String? {
        guard let tls else { return nil }
        return """
            # Written by 'ferry-server setup'.
            [Service]
            LoadCredential=tls-cert:\(tls.certificate)
            LoadCredential=tls-key:\(tls.key)

            """
    }

    private static let addressMark = "# Address for machines: "

    /// Returns the URL for machines that a configuration file says it was written for; nil if it does not say.
    static func loginURL(in configuration: String) -> String? {
        configuration.split(separator: "\n").first { $0.hasPrefix(addressMark) }.map {
            String($0.dropFirst(addressMark.count))
        }
    }

    /// A YAML scalar in double quotes.
    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
