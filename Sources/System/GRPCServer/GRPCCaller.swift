/// The caller that a server's `authorize` hook has identified for a call.
///
/// A server defines its own type, which its handlers get from `GRPCServerCall.caller`. The identity
/// is thus verified once for each call.
package protocol GRPCCaller: Sendable {
    /// The account whose limits apply to the call; nil to apply the limits of the address.
    var transportAccount: String? { get }
}
