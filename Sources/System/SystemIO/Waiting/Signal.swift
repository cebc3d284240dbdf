import Glibc

/// A signal of signal(7).
package struct Signal: Hashable, Sendable, CustomStringConvertible {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    package static let terminate = Signal(SIGTERM)
    package static let interrupt = Signal(SIGINT)
    package static let hangup = Signal(SIGHUP)
    package static let user1 = Signal(SIGUSR1)
    package static let user2 = Signal(SIGUSR2)

    package var description: String {
        switch self {
        case .terminate: "SIGTERM"
        case .interrupt: "SIGINT"
        case .hangup: "SIGHUP"
        case .user1: "SIGUSR1"
        case .user2: "SIGUSR2"
        default: "signal \(number)"
        }
    }

    /// Makes a write to a closed pipe or socket fail with EPIPE instead of ending the process. Call
    /// it once at start.
    package static func ignoreBrokenPipes() {
        _ = Glibc.signal(SIGPIPE, SIG_IGN)
    }
}
