/// Decides on access beyond an account's own keys.
package protocol ObjectAccessPolicy: Sendable {
    /// Whether the account that may use the keys below `prefix` may read an object of another
    /// account.
    func allowsReading(_ key: String, in bucket: String, byAccountAt prefix: String) async throws -> Bool

    /// Whether a bucket may have the name; false for a name that is the first part of other paths
    /// of the server.
    func allowsBucket(named name: String) -> Bool
}
