/// The header fields that ferry-server and its client add to a Listen call. Other servers ignore
/// the one and do not send the other.
package enum ListenMetadata {
    /// The field of the request with the newest commit that the client knows, in microseconds since
    /// 1970.
    package static let seen = "x-ferry-seen"
    /// The field of the response with the lineage of the database's commits. It is opaque and only
    /// compared.
    package static let lineage = "x-ferry-lineage"
}
