import BucketStore
import CivilTime
import HTTPMessages
import XML

/// The conditions of a put, a copy, the completion of a multipart upload, or a delete (RFC 9110
/// section 13.1, and the `x-amz-if-match-…` headers of DeleteObject).
struct WriteConditions: Sendable, Equatable {
    /// A list of entity tags, or `*`.
    private(set) var match: String?
    private(set) var noneMatch: String?
    /// The time of `If-Unmodified-Since`, in seconds since 1970.
    private(set) var unmodifiedSince: Int64?
    private(set) var modified: Int64?
    private(set) var size: Int64?

    static let none = WriteConditions()

    private init() {}

    /// Reads the conditions of a request. A malformed date in `If-Unmodified-Since` is ignored, as
    /// RFC 9110 requires.
    ///
    /// - Throws: `InvalidArgument` for a malformed size, or for a malformed date in another field.
    init(_ headers: HTTPHeaders) throws(S3Error) {
        match = headers["If-Match"]
        noneMatch = headers["If-None-Match"]
        unmodifiedSince = headers["If-Unmodified-Since"].flatMap { UTCTime(imfFixdate: $0)?.seconds }
        modified = try Self.time(headers["x-amz-if-match-last-modified-time"], "x-amz-if-match-last-modified-time")
        size = try Self.number(headers["x-amz-if-match-size"], "x-amz-if-match-size")
    }

    /// Reads the conditions of one `Object` of DeleteObjects.
    init(deleting object: XMLElement) throws(S3Error) {
        match = object["ETag"]
        modified = try Self.time(object["LastModifiedTime"], "LastModifiedTime")
        size = try Self.number(object["Size"], "Size")
    }

    /// Checks the conditions of a put.
    ///
    /// - Parameter present: The existing object; nil if there is none.
    /// - Throws: `PreconditionFailed`; `NoSuchKey` if `If-Match` requires an object that does not
    ///   exist.
    func checkPut(over present: ObjectRecord?) throws(S3Error) {
        guard let present else {
            guard match == nil, modified == nil, size == nil else { throw S3Error.noSuchKey }
            return
        }
        if let noneMatch, ObjectHeaders.names(noneMatch, present) { throw S3Error.preconditionFailed }
        try check(present)
    }

    /// Checks the conditions of a delete of an existing object. Deleting an object that does not
    /// exist succeeds regardless of conditions, as on S3.
    func checkDelete(of present: ObjectRecord) throws(S3Error) {
        if let noneMatch, ObjectHeaders.names(noneMatch, present) { throw S3Error.preconditionFailed }
        try check(present)
    }

    private func check(_ present: ObjectRecord) throws(S3Error) {
        let time = present.modified / 1_000_000
        if let match {
            guard ObjectHeaders.names(match, present) else { throw S3Error.preconditionFailed }
        } else if let unmodifiedSince, time > unmodifiedSince {
            throw S3Error.preconditionFailed
        }
        if let modified, modified != time { throw S3Error.preconditionFailed }
        if let size, size != present.size { throw S3Error.preconditionFailed }
    }

    /// Refuses conditions in a request whose operation takes none.
    static func refuse(in headers: HTTPHeaders, of operation: String) throws(S3Error) {
        for name in [
            "If-Match", "If-None-Match", "If-Unmodified-Since", "x-amz-if-match-size",
            "x-amz-if-match-last-modified-time",
        ] where headers[name] != nil {
            throw S3Error.notImplemented("\(name) for \(operation)")
        }
    }

    static func time(_ text: String?, _ name: String) throws(S3Error) -> Int64? {
        guard let text, !text.isEmpty else { return nil }
        guard let seconds = (UTCTime(imfFixdate: text) ?? UTCTime(rfc3339: text))?.seconds else {
            throw S3Error.invalidArgument("\(name) must be a date.")
        }
        return seconds
    }

    private static func number(_ text: String?, _ name: String) throws(S3Error) -> Int64? {
        guard let text, !text.isEmpty else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw S3Error.invalidArgument("\(name) must be a number of bytes.")
        }
        return number
    }
}
