/// On whose behalf a call is made.
package enum Requester: Sendable, Hashable {
    case nobody
    case user(String)
    /// Whoever runs the server: may do everything.
    case administrator
}
