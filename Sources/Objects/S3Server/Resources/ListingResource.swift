import BucketStore
import Cryptography
import HTTPMessages
import XML

/// The listings of a bucket's objects, page by page.
struct ListingResource: Sendable {
    let store: DirectoryBucketStore

    /// Handles ListObjects and ListObjectsV2.
    func objects(_ call: S3Call) async throws -> HTTPResponse {
        let isVersion2 = call.parameter("list-type") == "2"
        let bucket = call.bucket
        let prefix = call.parameter("prefix") ?? ""
        guard call.credential.allows(key: prefix) else { throw S3Error.accessDenied }
        let delimiter = call.parameter("delimiter").flatMap { $0.isEmpty ? nil : $0 }
        let limit = try call.integer("max-keys", in: 0...1000, otherwise: 1000)
        let marker = call.parameter(isVersion2 ? "start-after" : "marker") ?? ""
        let after = try isVersion2 ? call.parameter("continuation-token").map(Self.decode(token:)) ?? marker : marker
        let listing = try await store.index.list(for: call.credential.prefix) { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            return try database.list(bucket, prefix: prefix, delimiter: delimiter, after: after, limit: limit)
        }

        let encodes = call.encodesKeys
        func encoded(_ text: String) -> String { call.encoded(text) }
        var children = [
            XMLElement("Name", bucket), XMLElement("Prefix", encoded(prefix)), XMLElement("MaxKeys", String(limit)),
            XMLElement("IsTruncated", listing.next == nil ? "false" : "true"),
        ]
        if let delimiter { children.append(XMLElement("Delimiter", encoded(delimiter))) }
        if encodes { children.append(XMLElement("EncodingType", "url")) }
        if isVersion2 {
            children.append(XMLElement("KeyCount", String(listing.entries.count)))
            if !marker.isEmpty { children.append(XMLElement("StartAfter", encoded(marker))) }
            if let token = call.parameter("continuation-token") {
                children.append(XMLElement("ContinuationToken", token))
            }
            if let next = listing.next {
                children.append(XMLElement("NextContinuationToken", Base64.encode(Array(next.utf8), alphabet: .url)))
            }
        } else {
            children.append(XMLElement("Marker", encoded(marker)))
            if let next = listing.next { children.append(XMLElement("NextMarker", encoded(next))) }
        }
        let showsOwner = !isVersion2 || call.parameter("fetch-owner") == "true"
        for entry in listing.entries {
            switch entry {
            case .prefix(let prefix):
                children.append(XMLElement("CommonPrefixes", [XMLElement("Prefix", encoded(prefix))]))
            case .object(let object):
                children.append(
                    XMLElement(
                        "Contents",
                        [
                            XMLElement("Key", encoded(object.key)),
                            XMLElement("LastModified", microseconds: object.modified),
                            XMLElement("ETag", "\"\(object.etag)\""), XMLElement("Size", String(object.size)),
                            XMLElement("StorageClass", "STANDARD"),
                        ] + object.checksumNames + (showsOwner ? [S3Owner.element()] : [])))
            }
        }
        return .xml(XMLElement("ListBucketResult", children))
    }

    /// Handles ListObjectVersions for a bucket without versioning: each object has one version with
    /// the id `null`.
    func versions(_ call: S3Call) async throws -> HTTPResponse {
        let bucket = call.bucket
        let prefix = call.parameter("prefix") ?? ""
        guard call.credential.allows(key: prefix) else { throw S3Error.accessDenied }
        let delimiter = call.parameter("delimiter").flatMap { $0.isEmpty ? nil : $0 }
        let limit = try call.integer("max-keys", in: 0...1000, otherwise: 1000)
        let (after, version) = (call.parameter("key-marker") ?? "", call.parameter("version-id-marker") ?? "")
        guard version.isEmpty || !after.isEmpty else {
            throw S3Error.invalidArgument("A version-id marker cannot be specified without a key marker.")
        }
        try S3Call.check(version: version)
        let listing = try await store.index.list(for: call.credential.prefix) { database in
            guard try database.hasBucket(bucket) else { throw S3Error.noSuchBucket }
            return try database.list(bucket, prefix: prefix, delimiter: delimiter, after: after, limit: limit)
        }
        var children = [
            XMLElement("Name", bucket), XMLElement("Prefix", call.encoded(prefix)),
            XMLElement("KeyMarker", call.encoded(after)), XMLElement("VersionIdMarker", version),
            XMLElement("MaxKeys", String(limit)), XMLElement("IsTruncated", listing.next == nil ? "false" : "true"),
        ]
        if let delimiter { children.append(XMLElement("Delimiter", call.encoded(delimiter))) }
        if call.encodesKeys { children.append(XMLElement("EncodingType", "url")) }
        if let next = listing.next {
            children.append(XMLElement("NextKeyMarker", call.encoded(next)))
            if case .object? = listing.entries.last { children.append(XMLElement("NextVersionIdMarker", "null")) }
        }
        for entry in listing.entries {
            switch entry {
            case .prefix(let prefix):
                children.append(XMLElement("CommonPrefixes", [XMLElement("Prefix", call.encoded(prefix))]))
            case .object(let object):
                children.append(
                    XMLElement(
                        "Version",
                        [
                            XMLElement("Key", call.encoded(object.key)), XMLElement("VersionId", "null"),
                            XMLElement("IsLatest", "true"),
                            XMLElement("LastModified", microseconds: object.modified),
                            XMLElement("ETag", "\"\(object.etag)\""), XMLElement("Size", String(object.size)),
                            XMLElement("StorageClass", "STANDARD"),
                        ] + object.checksumNames + [S3Owner.element()]))
            }
        }
        return .xml(XMLElement("ListVersionsResult", children))
    }

    private static func decode(token: String) throws -> String {
        guard let bytes = Base64.decode(token, alphabet: .url), let text = String(validating: bytes, as: UTF8.self)
        else {
            throw S3Error.invalidArgument("The continuation token provided is incorrect")
        }
        return text
    }
}

/// The owner of every bucket and object, as listings and ACLs name it.
enum S3Owner {
    static let id = "ferry"

    static func element(_ role: String = "Owner", attributes: [String: String] = [:]) -> XMLElement {
        XMLElement(role, [XMLElement("ID", id), XMLElement("DisplayName", id)], attributes: attributes)
    }
}

extension S3Call {
    /// Whether the listing should encode characters that XML cannot represent.
    var encodesKeys: Bool { parameter("encoding-type") == "url" }

    func encoded(_ text: String) -> String {
        encodesKeys ? PercentEncoding.encode(text, keeping: "/") : text
    }
}
