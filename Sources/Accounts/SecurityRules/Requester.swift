/// The identity for which the rules decide.
package enum Requester: Sendable, Hashable {
    case nobody
    case user(String)
    /// The operator of the server, who may do everything.
    case administrator
}
