/// What ferry-server and its client add to the metadata of a Listen call. Other servers overlook the one and do not send the
/// other.
package enum ListenMetadata {
    /// Of the request: the newest commit that the client knows of, in microseconds since 1970.
    package static let seen = "x-ferry-seen"
    /// Of the answer: which line of commits the database is of, in words that are only good for comparing.
    package static let lineage = "x-ferry-lineage"
}
