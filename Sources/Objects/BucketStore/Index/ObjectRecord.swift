/// The index entry of an object.
package struct ObjectRecord: Sendable, Hashable {
    package var key: String
    /// The name of the bytes' place; see `ObjectPlace`.
    package var file: String
    /// The size in bytes.
    package var size: Int64
    /// The entity tag without quotes.
    package var etag: String
    /// The time of the last change, in microseconds since 1970 by the server's clock.
    package var modified: Int64
    package var contentType: String
    /// The header fields to return with the object, by lower-case name: content headers, checksums
    /// and user metadata.
    package var headers: [String: String]

    package init(
        key: String, file: String, size: Int64, etag: String, modified: Int64, contentType: String,
        headers: [String: String]
    ) {
        self.key = key
        self.file = file
        self.size = size
        self.etag = etag
        self.modified = modified
        self.contentType = contentType
        self.headers = headers
    }
}

/// A page of a listing: objects and common prefixes, in byte order.
package struct ObjectListing: Sendable {
    package enum Entry: Sendable {
        case object(ObjectRecord)
        /// A common prefix, up to and including the delimiter.
        case prefix(String)
    }

    package var entries: [Entry]
    /// The key or prefix after which the next page starts; nil at the end.
    package var next: String?
}

/// A multipart upload in progress.
package struct MultipartUpload: Sendable {
    package let id: String
    package let bucket: String
    package let key: String
    /// The time of the start, in microseconds since 1970 by the server's clock.
    package let created: Int64
    package let contentType: String
    /// The header fields of the future object, by lower-case name.
    package let headers: [String: String]

    package init(
        id: String, bucket: String, key: String, created: Int64, contentType: String, headers: [String: String]
    ) {
        self.id = id
        self.bucket = bucket
        self.key = key
        self.created = created
        self.contentType = contentType
        self.headers = headers
    }
}

/// One part of a multipart upload.
package struct UploadedPart: Sendable {
    package let number: Int
    /// The name of the bytes' place; see `ObjectPlace`.
    package let file: String
    /// The size in bytes.
    package let size: Int64
    /// The entity tag without quotes.
    package let etag: String
    /// The time of its upload, in microseconds since 1970 by the server's clock.
    package let modified: Int64
    /// The checksum that the upload asks for, in base64; nil if it asks for none, and for parts
    /// stored by earlier versions.
    package var checksum: String?

    package init(
        number: Int, file: String, size: Int64, etag: String, modified: Int64, checksum: String? = nil
    ) {
        self.number = number
        self.file = file
        self.size = size
        self.etag = etag
        self.modified = modified
        self.checksum = checksum
    }
}
