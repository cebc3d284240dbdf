import Glibc

/// The reason why a server could not start.
package struct GRPCServerError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// Another program listens on the address.
        case addressInUse
        /// The host is not an address of this machine, or cannot be looked up.
        case addressNotAvailable
        /// The port needs privileges that the process does not have.
        case notPermitted
        /// The certificate or its key cannot be used.
        case badCertificate
        /// The server was started before.
        case alreadyStarted
        /// Any other reason, which the message gives in the system's words.
        case other
    }

    package let code: Code
    /// The description: the failure, the address, and what to do.
    package let message: String

    package var description: String { message }
}

extension GRPCServerError {
    /// Creates the error for an address that could not be bound, from an error number of errno(3).
    init(binding address: String, number: Int32) {
        let failure = "Cannot listen on \(address)"
        switch number {
        case EADDRINUSE:
            self.init(
                code: .addressInUse, message: "\(failure): another program does. Stop it or choose another port.")
        case EACCES, EPERM:
            self.init(
                code: .notPermitted,
                message: "\(failure): not permitted. Choose a port above 1023 or grant the privilege.")
        case EADDRNOTAVAIL:
            self.init(
                code: .addressNotAvailable,
                message: "\(failure): this machine has no such address. Check the host.")
        default:
            self.init(code: .other, message: "\(failure): \(String(cString: strerror(number))).")
        }
    }
}
