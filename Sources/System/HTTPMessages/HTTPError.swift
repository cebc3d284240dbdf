import Glibc

/// What went wrong between here and the peer; statuses that a peer answers are not errors.
package struct HTTPError: Error, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case invalidMessage, couldNotResolve, couldNotConnect, connectionLost, timedOut, insecure
            case headersTooLarge, bodyTooLarge, bodyGone, protocolViolation, cannotListen, stopped
        }
        private let value: Value

        /// The request, response or address given by the caller cannot be sent or used.
        package static let invalidMessage = Code(value: .invalidMessage)
        package static let couldNotResolve = Code(value: .couldNotResolve)
        package static let couldNotConnect = Code(value: .couldNotConnect)
        /// The connection ended before the message was whole.
        package static let connectionLost = Code(value: .connectionLost)
        /// The limit for connecting, for standing still or for the whole exchange has passed.
        package static let timedOut = Code(value: .timedOut)
        /// TLS could not be agreed on, or the certificate is not to be trusted.
        package static let insecure = Code(value: .insecure)
        package static let headersTooLarge = Code(value: .headersTooLarge)
        package static let bodyTooLarge = Code(value: .bodyTooLarge)
        /// A body was read twice, or a request's body after its handler had returned.
        package static let bodyGone = Code(value: .bodyGone)
        /// The peer does not speak HTTP/1.1 as it should.
        package static let protocolViolation = Code(value: .protocolViolation)
        package static let cannotListen = Code(value: .cannotListen)
        /// The client or server was stopped.
        package static let stopped = Code(value: .stopped)

        /// Whether the same request may succeed later without anybody changing anything here.
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

/// strerror's text for a code, safe on any thread.
package func errorText(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else {
            return "error \(code)"
        }
        return String(cString: base)
    }
}
