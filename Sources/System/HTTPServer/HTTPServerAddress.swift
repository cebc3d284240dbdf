import HTTPMessages

/// Where a server listens.
package enum HTTPServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or literal address; port 0 takes a free one.
    case tcp(host: String, port: Int)
    /// Made with mode 0600. A socket file left behind is replaced, but only if nobody answers on it.
    case unix(path: String)
    /// A listening stream socket that was inherited, as from systemd. The server closes it.
    case descriptor(Int32)

    package var description: String {
        switch self {
        case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        case .descriptor(let number): "descriptor \(number)"
        }
    }
}
