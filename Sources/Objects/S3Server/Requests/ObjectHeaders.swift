import BucketStore
import CivilTime
import HTTPMessages

/// The header fields of objects: the fields of a put that are kept and returned with the object,
/// and the conditions and ranges of a get.
enum ObjectHeaders {
    private static let kept: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "expires",
        "x-amz-checksum-crc32",
        "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme", "x-amz-checksum-sha1", "x-amz-checksum-sha256",
    ]

    /// Returns the content type and the fields to keep, by lower-case name. User metadata is
    /// limited to 2 KiB, as on S3.
    static func keep(_ headers: HTTPHeaders) throws -> (type: String, headers: [String: String]) {
        var result: [String: String] = [:]
        var metadataSize = 0
        for field in headers {
            let name = field.name.lowercased()
            // Bytes that are not UTF-8 were replaced when the request was read, so they could not
            // be returned unchanged.
            if name.hasPrefix("x-amz-meta-") || kept.contains(name), field.value.unicodeScalars.contains("\u{FFFD}") {
                throw S3Error.invalidArgument("The value of \(name) is not UTF-8.")
            }
            if name.hasPrefix("x-amz-meta-") {
                metadataSize += name.utf8.count - 11 + field.value.utf8.count
                result[name] = result[name].map { "\($0),\(field.value)" } ?? field.value
            } else if kept.contains(name) {
                result[name] = field.value
            }
        }
        guard metadataSize <= 2048 else {
            throw S3Error(
                "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size", 400)
        }
        if let encoding = result["content-encoding"] {
            // aws-chunked applies to the request only.
            let rest = encoding.split(separator: ",").map { $0.trimmed }.filter { $0 != "aws-chunked" }
            result["content-encoding"] = rest.isEmpty ? nil : rest.joined(separator: ", ")
        }
        let type = headers["Content-Type"] ?? ""
        return (type.isEmpty ? "binary/octet-stream" : type, result)
    }

    /// Returns the fields of a GET or HEAD answer, with the overrides of the query.
    static func answer(_ record: ObjectRecord, _ target: HTTPTarget, showsChecksums: Bool) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Content-Type": record.contentType, "ETag": "\"\(record.etag)\"", "Accept-Ranges": "bytes",
            "Last-Modified": UTCTime(microseconds: record.modified).imfFixdate,
        ]
        for (name, value) in record.headers.sorted(by: { $0.key < $1.key })
        where showsChecksums || !name.hasPrefix("x-amz-checksum-") {
            headers[name] = value
        }
        if showsChecksums, case let checksums = record.checksums, !checksums.values.isEmpty {
            headers[ObjectChecksum.Kind.header] = checksums.kind.rawValue
        }
        for name in [
            "content-type", "content-language", "expires", "cache-control", "content-disposition", "content-encoding",
        ] {
            if let value = target[query: "response-\(name)"] { headers[name] = value }
        }
        return headers
    }

    /// Returns the status with which the conditions end a request (RFC 9110 section 13.2.2); nil if
    /// they hold.
    static func check(_ headers: HTTPHeaders, prefix: String = "", against record: ObjectRecord) -> HTTPStatus? {
        func names(_ text: String) -> Bool { self.names(text, record) }
        func seconds(_ field: String) -> Int64? { headers[prefix + field].flatMap { UTCTime(imfFixdate: $0)?.seconds } }
        let modified = record.modified / 1_000_000
        if let match = headers["\(prefix)If-Match"] {
            if !names(match) { return .preconditionFailed }
        } else if let since = seconds("If-Unmodified-Since"), modified > since {
            return .preconditionFailed
        }
        if let noneMatch = headers["\(prefix)If-None-Match"] {
            if names(noneMatch) { return .notModified }
        } else if let since = seconds("If-Modified-Since"), modified <= since {
            return .notModified
        }
        return nil
    }

    /// Whether a list of entity tags contains the object's, or is `*`.
    static func names(_ tags: String, _ record: ObjectRecord) -> Bool {
        tags.split(separator: ",").contains { part in
            var tag = part.trimmed
            if tag.hasPrefix("W/") { tag.removeFirst(2) }
            return tag == "*" || tag == "\"\(record.etag)\"" || tag == record.etag
        }
    }

    /// Returns the byte range to send for a get; nil for the whole object.
    ///
    /// If `If-Range` names another version, the whole object is sent, because a range would not fit
    /// the bytes that the client has (RFC 9110 section 13.1.5).
    static func range(of record: ObjectRecord, _ headers: HTTPHeaders) throws -> Range<Int64>? {
        if let version = headers["If-Range"] {
            let isThis =
                UTCTime(imfFixdate: version).map { $0.seconds == record.modified / 1_000_000 }
                ?? (version == "\"\(record.etag)\"")
            guard isThis else { return nil }
        }
        return try range(headers["Range"], size: record.size)
    }

    /// Checks the part number of a get. Only part 1, the whole object, exists, because the
    /// boundaries of an object's parts are not kept.
    static func checkPart(_ number: String?, of record: ObjectRecord) throws {
        guard let number else { return }
        guard let number = Int(number), (1...10_000).contains(number) else {
            throw S3Error.invalidArgument("Part number must be an integer between 1 and 10000, inclusive")
        }
        guard number == 1 else {
            throw S3Error("InvalidPartNumber", "The requested partnumber is not satisfiable", 416)
        }
    }

    /// Returns the range of the source for a copied part. It must lie within the source.
    static func copyRange(_ header: String?, size: Int64) throws -> Range<Int64> {
        guard let header else { return 0..<size }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard header.hasPrefix("bytes="), ends.count == 2, let first = ends[0], let last = ends[1], first >= 0,
            first <= last
        else {
            throw S3Error.invalidArgument("The x-amz-copy-source-range value must be of the form bytes=first-last")
        }
        guard last < size else {
            throw S3Error.invalidArgument("Range specified is not valid for source object of size: \(size)")
        }
        return first..<last + 1
    }

    /// Returns the byte range of a `Range` field; nil if there is none, or one that must be
    /// ignored.
    ///
    /// - Throws: `.invalidRange` if the range lies outside the object.
    static func range(_ header: String?, size: Int64) throws -> Range<Int64>? {
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else { return nil }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let count = Int64(ends[1]) else { return nil }
            guard count > 0, size > 0 else { throw S3Error.invalidRange }
            return max(0, size - count)..<size
        }
        guard let first = Int64(ends[0]), first >= 0 else { return nil }
        let last = ends[1].isEmpty ? Int64.max - 1 : Int64(ends[1])
        guard let last, last >= first else { return nil }
        guard first < size else { throw S3Error.invalidRange }
        return first..<min(last == .max ? size : last + 1, size)
    }
}
