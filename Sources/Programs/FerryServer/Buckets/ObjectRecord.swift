/// What the index knows of an object.
struct ObjectRecord: Sendable, Hashable {
    var key: String
    /// Where its bytes lie, see `ObjectPlace`.
    var file: String
    var size: Int64
    /// Without quotes.
    var etag: String
    /// Microseconds since 1970, by the server's clock.
    var modified: Int64
    var contentType: String
    /// Header fields to give back with the object: content headers, checksums and user metadata, by lower-case name.
    var headers: [String: String]
}

/// A page of a listing: objects and common prefixes, in the order of their bytes.
struct ObjectListing: Sendable {
    enum Entry: Sendable {
        case object(ObjectRecord)
        /// All keys that begin with it, up to and including the delimiter.
        case prefix(String)
    }

    var entries: [Entry]
    /// Where the next page begins: after this key or prefix. nil at the end.
    var next: String?
}

/// A multipart upload under way.
struct MultipartUpload: Sendable {
    let id: String
    let bucket: String
    let key: String
    let created: Int64
    let contentType: String
    let headers: [String: String]
}

/// One part of a multipart upload.
struct UploadedPart: Sendable {
    let number: Int
    let file: String
    let size: Int64
    let etag: String
    let modified: Int64
    /// In base64, by the algorithm that the upload asks for; nil where it asks for none, and for parts of earlier versions.
    var checksum: String?
}
