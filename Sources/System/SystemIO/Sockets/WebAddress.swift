/// The URL of a server: scheme, host and port. It has no path, because the signatures of S3 cover that.
package struct WebAddress: Sendable, Hashable, CustomStringConvertible {
    package let isSecure: Bool
    package let address: ListenAddress

    /// nil for anything but `http` or `https` with a host, and a port if it is not the scheme's own.
    package init?(_ text: String) {
        guard let end = text.firstIndex(of: ":"), text[end...].hasPrefix("://") else { return nil }
        switch text[..<end].lowercased() {
        case "https": isSecure = true
        case "http": isSecure = false
        default: return nil
        }
        var authority = text[end...].dropFirst(3)
        if authority.hasSuffix("/") { authority.removeLast() }
        let port = Self.port(isSecure)
        guard
            let address = ListenAddress(authority.lowercased()) ?? ListenAddress("\(authority.lowercased()):\(port)"),
            address.isName, address.port != 0
        else { return nil }
        self.address = address
    }

    /// The URL without the scheme's default port, as clients write it in `Host`.
    package var description: String {
        let text = "\(isSecure ? "https" : "http")://\(address)"
        let port = ":\(Self.port(isSecure))"
        return text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
    }

    private static func port(_ isSecure: Bool) -> Int { isSecure ? 443 : 80 }
}
