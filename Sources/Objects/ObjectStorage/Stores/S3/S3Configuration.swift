import HTTPMessages

/// The address and the properties of an S3 store.
public struct S3Configuration: Sendable {
    /// The form in which URLs name the bucket.
    public enum Addressing: Sendable {
        /// `https://host/bucket/key`, which every store supports.
        case path
        /// `https://bucket.host/key`, which Amazon recommends.
        case virtualHost
    }

    /// The scheme, the host, and the port if it is not the default of the scheme:
    /// `https://s3.eu-central-1.amazonaws.com`. A path is put before that of the bucket.
    public let endpoint: String
    /// The name of the bucket.
    public let bucket: String
    /// The region in signatures.
    public let region: String
    /// The form in which URLs name the bucket.
    public let addressing: Addressing
    /// The method by which the store detects content that was damaged on the way. It rejects such
    /// content while the client can still send it again.
    public enum Integrity: Sendable {
        /// The signature covers the SHA-256 of the content, and uploads carry it as
        /// `x-amz-checksum-sha256`, so that the store keeps it.
        case sha256
        /// The signature covers the SHA-256 of the content. For stores that reject checksums.
        case signature
        /// Uploads carry `x-amz-checksum-crc32c`, which takes less than a tenth of the time on both
        /// sides, and the signature does not cover the content. Without TLS this is the same as
        /// `sha256`, unless the store is on this device.
        case crc32c
    }

    /// The method by which the store detects damaged content.
    public var integrity = Integrity.sha256
    /// Whether small objects that are put at the same time are sent as one archive, which the store
    /// unpacks (`x-amz-meta-snowball-auto-extract`, as MinIO has it from Amazon's Snowball), and
    /// small objects that are read at the same time are received as one archive. For
    /// `ferry-server`, which confirms the number of objects in its response.
    package var usesArchives = false
    /// The time after which a request fails that stays below `minimumRate`.
    public var stall: Duration = .seconds(30)
    /// The bytes per second below which a request counts as stalled. A store that sends a byte now and then would
    /// otherwise hold a transfer for days.
    public var minimumRate = 64
    /// The time after which an attempt to connect fails.
    public var connect: Duration = .seconds(10)

    let isSecure: Bool
    /// The value of the `Host` field.
    let host: String
    /// The path of the bucket, without a slash at the end.
    let path: String

    /// Creates a configuration. Throws `.invalid` if the endpoint is no http or https URL or no
    /// store accepts the name of the bucket.
    public init(
        endpoint: String, bucket: String, region: String = "us-east-1", addressing: Addressing = .path
    ) throws(ObjectStorageError) {
        let isSecure = endpoint.hasPrefix("https://")
        guard isSecure || endpoint.hasPrefix("http://") else {
            throw ObjectStorageError(.invalid, "the endpoint \(endpoint) is not an http:// or https:// URL")
        }
        let rest = endpoint.dropFirst(isSecure ? 8 : 7)
        var authority = String(rest.prefix { $0 != "/" })
        let standardPort = isSecure ? ":443" : ":80"
        if authority.hasSuffix(standardPort) { authority.removeLast(standardPort.count) }
        guard !authority.isEmpty, !endpoint.contains(where: { "?#@ ".contains($0) }) else {
            throw ObjectStorageError(.invalid, "the endpoint \(endpoint) is more, or less, than scheme, host and port")
        }
        guard (3...63).contains(bucket.utf8.count), bucket.utf8.allSatisfy(Self.isBucketCharacter) else {
            throw ObjectStorageError(
                .invalid, "the bucket name \(bucket) is not 3 to 63 lowercase letters, digits, dots and hyphens")
        }
        var path = String(rest.dropFirst(authority.isEmpty ? 0 : rest.prefix { $0 != "/" }.count))
        while path.hasSuffix("/") { path.removeLast() }
        self.endpoint = endpoint
        self.bucket = bucket
        self.region = region
        self.addressing = addressing
        self.isSecure = isSecure
        switch addressing {
        case .path:
            host = authority
            self.path = "\(path)/\(bucket)"
        case .virtualHost:
            host = "\(bucket).\(authority)"
            self.path = path
        }
    }

    /// Whether the connection protects requests from changes: it uses TLS or stays on this device.
    var guardsWay: Bool {
        isSecure || ["127.0.0.1", "[::1]", "localhost"].contains { host == $0 || host.hasPrefix("\($0):") }
    }

    private static func isBucketCharacter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
    }
}
