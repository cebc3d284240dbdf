/// The caller that a server's `authorize` hook has found for a call.
///
/// A server has its own type, which its handlers get back from `GRPCServerCall.caller`: what proves the identity is
/// verified once a call.
package protocol GRPCCaller: Sendable {
    /// The account that limits count the call for; nil for a caller without one, whose calls count for the address.
    var transportAccount: String? { get }
}
