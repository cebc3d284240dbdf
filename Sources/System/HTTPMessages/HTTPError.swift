import Glibc

/// A failure of an exchange with a peer. A status code that a peer answers is not an error.
package struct HTTPError: Error, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case invalidMessage, couldNotResolve, couldNotConnect, connectionLost, timedOut, insecure
            case headersTooLarge, bodyTooLarge, bodyGone, protocolViolation, cannotListen, stopped
        }
        private let value: Value

        /// The caller's request, response or address cannot be sent or used.
        package static let invalidMessage = Code(value: .invalidMessage)
        package static let couldNotResolve = Code(value: .couldNotResolve)
        package static let couldNotConnect = Code(value: .couldNotConnect)
        /// The connection ended before the message was complete.
        package static let connectionLost = Code(value: .connectionLost)
        /// The time limit for connecting, for inactivity, or for the whole exchange has passed.
        package static let timedOut = Code(value: .timedOut)
        /// The TLS handshake failed, or the certificate is not trusted.
        package static let insecure = Code(value: .insecure)
        package static let headersTooLarge = Code(value: .headersTooLarge)
        package static let bodyTooLarge = Code(value: .bodyTooLarge)
        /// A body was read twice, or a request's body was read after its handler had returned.
        package static let bodyGone = Code(value: .bodyGone)
        /// The peer violates HTTP/1.1.
        package static let protocolViolation = Code(value: .protocolViolation)
        package static let cannotListen = Code(value: .cannotListen)
        /// The client or server was stopped.
        package static let stopped = Code(value: .stopped)

        /// Whether the same request may succeed later without a change on this side.
        package var isTransient: Bool {
            switch value {
            case .couldNotResolve, .couldNotConnect, .connectionLost, .timedOut: true
            default: false
            }
        }

        package var description: String { value.rawValue }
    }

    package let code: Code
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }
}

/// Returns the text of strerror(3) for an error number. Safe on any thread.
package func errorText(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else {
            return "error \(code)"
        }
        return String(cString: base)
    }
}
