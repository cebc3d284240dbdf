import BucketStore
import CivilTime
import HTTPMessages
import HTTPServer
import XML

/// The settings of buckets and objects.
///
/// Only CORS can be set. Reading any other setting gives the answer of S3 for a bucket without it,
/// and changing one is refused.
struct SettingsResource: Sendable {
    let context: S3Context
    let crossOrigin: CORSResource

    /// Returns the answer to `GET /bucket?setting`; nil if the query asks for no setting.
    ///
    /// - Throws: Amazon's error for a setting that was never made; `NotImplemented` for a setting
    ///   that this server does not know, instead of a list of objects.
    func ofBucket(_ call: S3Call) throws -> HTTPResponse? {
        guard let name = call.setting else { return nil }
        try context.requireBucket(call.bucket)
        if name == "cors", let rules = try crossOrigin.rules(of: call.bucket) { return .xml(rules.xml) }
        if let absent = Self.absentSettings[name] { throw S3Error(absent.code, absent.message, 404) }
        switch name {
        case "versioning": return .xml(XMLElement("VersioningConfiguration", ""))
        case "acl": return .xml(Self.ownersAccess)
        case "logging": return .xml(XMLElement("BucketLoggingStatus", ""))
        case "notification": return .xml(XMLElement("NotificationConfiguration", ""))
        case "accelerate": return .xml(XMLElement("AccelerateConfiguration", ""))
        case "requestPayment":
            return .xml(XMLElement("RequestPaymentConfiguration", [XMLElement("Payer", "BucketOwner")]))
        default: throw S3Error.notImplemented("?\(name)")
        }
    }

    /// Returns the answer to `GET /bucket/key?setting`; nil if the query asks for the object.
    func ofObject(_ call: S3Call) async throws -> HTTPResponse? {
        guard let name = call.setting else { return nil }
        if name == "acl", call.request.method == .put { return try await putACL(call) }
        guard call.request.method == .get else { throw S3Error.notImplemented("?\(name)") }
        switch name {
        case "acl":
            _ = try context.record(call.bucket, call.key)
            return .xml(Self.ownersAccess)
        case "tagging":
            _ = try context.record(call.bucket, call.key)
            return .xml(XMLElement("Tagging", [XMLElement("TagSet", "")]))
        case "attributes": return try attributes(call)
        default: throw S3Error.notImplemented("?\(name)")
        }
    }

    /// Handles PutBucketAcl and PutObjectAcl, which succeed for the only possible ACL: full control
    /// for the owner.
    ///
    /// Tools such as s3cmd read the ACL of an object and write it to a copy. `RequestHeaderRules`
    /// has checked the headers.
    func putACL(_ call: S3Call) async throws -> HTTPResponse {
        if call.key.isEmpty {
            try call.requireAdministrator()
            try context.requireBucket(call.bucket)
        } else {
            _ = try context.record(call.bucket, call.key)
        }
        let body = try await context.bodies.collect(call, limit: 64 << 10)
        if body.isEmpty, call.request.headers["x-amz-acl"] != nil { return HTTPResponse() }
        let tree = try RequestBodies.document(body, named: "AccessControlPolicy")
        guard Self.isOwners(tree) else {
            throw S3Error("AccessControlListNotSupported", "The bucket does not allow ACLs", 400)
        }
        return HTTPResponse()
    }

    /// Whether an ACL grants full control to the owner and nothing else.
    private static func isOwners(_ tree: XMLElement) -> Bool {
        let grants = tree.children.filter { $0.name == "AccessControlList" }.flatMap(\.children)
        return grants.count == 1
            && grants.allSatisfy { grant in
                grant["Permission"] == "FULL_CONTROL"
                    && grant.children.first { $0.name == "Grantee" }?["ID"] == S3Owner.id
            }
    }

    /// Handles GetObjectAttributes with the properties that `x-amz-object-attributes` names.
    private func attributes(_ call: S3Call) throws -> HTTPResponse {
        let record = try context.record(call.bucket, call.key, hidingMarked: true)
        let asked = call.request.headers.values("x-amz-object-attributes").flatMap { $0.split(separator: ",") }
        var children: [XMLElement] = []
        for name in asked.map(\.trimmed) {
            switch name {
            case "ETag": children.append(XMLElement("ETag", record.etag))
            case "Checksum":
                let checksums = record.checksumElements
                if !checksums.isEmpty { children.append(XMLElement("Checksum", checksums)) }
            case "ObjectParts":
                guard let count = record.etag.split(separator: "-").dropFirst().first.flatMap({ Int($0) }), count > 1
                else { continue }
                children.append(XMLElement("ObjectParts", [XMLElement("PartsCount", String(count))]))
            case "StorageClass": children.append(XMLElement("StorageClass", "STANDARD"))
            case "ObjectSize": children.append(XMLElement("ObjectSize", String(record.size)))
            default: throw S3Error.invalidArgument("Invalid attribute name specified.")
            }
        }
        guard !children.isEmpty || !asked.isEmpty else {
            throw S3Error.invalidRequest(
                "The x-amz-object-attributes header specifying the attributes to be retrieved is missing")
        }
        return .xml(
            XMLElement("GetObjectAttributesResponse", children),
            headers: ["Last-Modified": UTCTime(microseconds: record.modified).imfFixdate])
    }

    private static let absentSettings: [String: (code: String, message: String)] = [
        "policy": ("NoSuchBucketPolicy", "The bucket policy does not exist"),
        "policyStatus": ("NoSuchBucketPolicy", "The bucket policy does not exist"),
        "cors": ("NoSuchCORSConfiguration", "The CORS configuration does not exist"),
        "lifecycle": ("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"),
        "tagging": ("NoSuchTagSet", "The TagSet does not exist"),
        "website": ("NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"),
        "replication": ("ReplicationConfigurationNotFoundError", "The replication configuration was not found"),
        "encryption": (
            "ServerSideEncryptionConfigurationNotFoundError", "The server side encryption configuration was not found"
        ),
        "object-lock": ("ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist"),
        "publicAccessBlock": (
            "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found"
        ),
        "ownershipControls": ("OwnershipControlsNotFoundError", "The bucket ownership controls were not found"),
    ]

    private static var ownersAccess: XMLElement {
        let type = ["xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance", "xsi:type": "CanonicalUser"]
        let grant = [S3Owner.element("Grantee", attributes: type), XMLElement("Permission", "FULL_CONTROL")]
        return XMLElement(
            "AccessControlPolicy",
            [S3Owner.element(), XMLElement("AccessControlList", [XMLElement("Grant", grant)])])
    }
}

extension S3Call {
    /// The setting that the query names; nil if the call is about the bucket's objects or the
    /// object's bytes. Words that Amazon does not know are ignored, as on S3.
    fileprivate var setting: String? { request.target.query.lazy.map(\.name).first(where: Self.settings.contains) }

    private static let settings: Set<String> = [
        "abac", "accelerate", "acl", "analytics", "annotation", "attributes", "cors", "encryption",
        "intelligent-tiering",
        "inventory", "legal-hold", "lifecycle", "logging", "metadataAnnotationTable", "metadataConfiguration",
        "metadataInventoryTable", "metadataJournalTable", "metadataTable", "metrics",
        "notification",
        "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "renameObject",
        "replication", "requestPayment", "restore", "retention", "select", "select-type", "session", "tagging",
        "torrent",
        "versioning", "versions", "website",
    ]

    /// Refuses a request to create or delete a bucket whose query names a setting that this server
    /// does not know.
    func refuseSetting() throws(S3Error) {
        for item in request.target.query
        where item.name != "x-id" && !RequestHeaderRules.isAmazons(item.name)
            && !["AWSAccessKeyId", "Expires", "Signature"].contains(item.name)
        {
            throw S3Error.notImplemented("?\(item.name)")
        }
    }
}
