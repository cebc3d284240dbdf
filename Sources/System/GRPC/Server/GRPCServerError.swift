/// Why a server could not start.
package struct GRPCServerError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// Another program listens there.
        case addressInUse
        /// The host is no address of this machine, or cannot be looked up.
        case addressNotAvailable
        /// The port needs privileges that the process does not have.
        case notPermitted
        /// The certificate or its key cannot be used.
        case badCertificate
        /// The server was started before.
        case alreadyStarted
        /// Anything else; the message holds the transport's own words.
        case other
    }

    package let code: Code
    /// What failed, on which address, and what to do.
    package let message: String

    package var description: String { message }
}
