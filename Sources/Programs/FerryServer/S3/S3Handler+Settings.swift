import HTTPMessages
import HTTPServer

/// What clients ask about buckets and objects beyond their bytes. Nothing but CORS can be set here, so other questions are answered
/// as S3 does where nothing was set, and who would change something is told that it is not there.
extension S3Handler {
    /// The answer to `GET /bucket?setting`, or nil where the query asks for no setting.
    /// - Throws: Amazon's code for a setting that was never made; `NotImplemented` for one that this server knows nothing of,
    ///   rather than a list of objects in its place.
    func bucketSetting(_ call: S3Call) async throws -> HTTPResponse? {
        guard let name = call.setting else { return nil }
        try requireBucket(call.bucket)
        if name == "cors", let rules = try corsRules(of: call.bucket) { return .xml(rules.xml) }
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

    /// The answer to `GET /bucket/key?setting`, or nil where the query asks for the object.
    func objectSetting(_ call: S3Call) async throws -> HTTPResponse? {
        guard let name = call.setting else { return nil }
        if name == "acl", call.request.method == .put { return try await putACL(call) }
        guard call.request.method == .get else { throw S3Error.notImplemented("?\(name)") }
        switch name {
        case "acl":
            _ = try record(call.bucket, call.key)
            return .xml(Self.ownersAccess)
        case "tagging":
            _ = try record(call.bucket, call.key)
            return .xml(XMLElement("Tagging", [XMLElement("TagSet", "")]))
        case "attributes": return try attributes(call)
        default: throw S3Error.notImplemented("?\(name)")
        }
    }

    /// PutBucketAcl and PutObjectAcl, which succeed where the ACL says what is so anyway: that the owner has full control. Tools such as
    /// s3cmd read the ACL of an object and write it to the copy. What a header asks for was checked by `RequestHeaderRules`.
    func putACL(_ call: S3Call) async throws -> HTTPResponse {
        if call.key.isEmpty {
            try call.requireAdministrator()
            try requireBucket(call.bucket)
        } else {
            _ = try record(call.bucket, call.key)
        }
        let body = try await collect(call, limit: 64 << 10)
        if body.isEmpty, call.request.headers["x-amz-acl"] != nil { return HTTPResponse() }
        guard let tree = XMLTree(parsing: body), tree.name == "AccessControlPolicy" else { throw S3Error.malformedXML }
        guard Self.isOwners(tree) else {
            throw S3Error("AccessControlListNotSupported", "The bucket does not allow ACLs", 400)
        }
        return HTTPResponse()
    }

    /// Whether an ACL grants full control to the owner and nothing else.
    private static func isOwners(_ tree: XMLTree) -> Bool {
        let grants = tree.children.filter { $0.name == "AccessControlList" }.flatMap(\.children)
        return grants.count == 1
            && grants.allSatisfy { grant in
                grant["Permission"] == "FULL_CONTROL"
                    && grant.children.first { $0.name == "Grantee" }?["ID"] == "ferry"
            }
    }

    /// GetObjectAttributes: what of an object's properties `x-amz-object-attributes` asks for.
    private func attributes(_ call: S3Call) throws -> HTTPResponse {
        let record = try record(call.bucket, call.key, hidingCondemned: true)
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
            headers: ["Last-Modified": S3Date.http(microseconds: record.modified)])
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
        let owner = [XMLElement("ID", "ferry"), XMLElement("DisplayName", "ferry")]
        let type = ["xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance", "xsi:type": "CanonicalUser"]
        let grant = [XMLElement("Grantee", owner, attributes: type), XMLElement("Permission", "FULL_CONTROL")]
        return XMLElement(
            "AccessControlPolicy",
            [XMLElement("Owner", owner), XMLElement("AccessControlList", [XMLElement("Grant", grant)])])
    }
}

extension S3Call {
    /// The word of the query that makes it a call about something else than the bucket's list or the object's bytes. Words that
    /// Amazon does not know are ignored, as there.
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

    /// Refuses a request to make or delete a bucket whose query asks for something else, which Amazon may know and this server does not.
    func refuseSetting() throws(S3Error) {
        for item in request.target.query
        where item.name != "x-id" && !RequestHeaderRules.isAmazons(item.name)
            && !["AWSAccessKeyId", "Expires", "Signature"].contains(item.name)
        {
            throw S3Error.notImplemented("?\(item.name)")
        }
    }

    /// Objects have one version here, whose id is `null`. A call for another one must not meet that.
    func checkVersion() throws(S3Error) { try Self.check(version: parameter("versionId")) }

    static func check(version: String?) throws(S3Error) {
        guard let version, !version.isEmpty, version != "null" else { return }
        throw S3Error.invalidArgument("Invalid version id specified")
    }
}
