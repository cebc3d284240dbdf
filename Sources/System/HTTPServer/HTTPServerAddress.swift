import HTTPMessages

/// An address to listen on.
package enum HTTPServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or literal address. Port 0 selects a free port.
    case tcp(host: String, port: Int)
    /// The path of a socket file, which gets mode 0600. An existing socket file is replaced only if
    /// connections to it are refused.
    case unix(path: String)
    /// A listening stream socket that was inherited, for example from systemd. The server closes
    /// it.
    case descriptor(Int32)

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        case .descriptor(let number): "descriptor \(number)"
        }
    }
}
