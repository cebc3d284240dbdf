import HTTPMessages

/// Where an S3 store is and how it likes to be spoken to.
public struct S3Configuration: Sendable {
    public enum Addressing: Sendable {
        /// `https://host/bucket/key`, which every store understands.
        case path
        /// `https://bucket.host/key`, which Amazon prefers.
        case virtualHost
    }

    /// Scheme, host and, where it is not the scheme's own, port: `https://s3.eu-central-1.amazonaws.com`. A path in it
    /// is put before the bucket's.
    public let endpoint: String
    public let bucket: String
    /// The region in signatures.
    public let region: String
    public let addressing: Addressing
    /// How the store can tell that what it is given is what was sent: it refuses what was damaged on the way, while whoever
    /// has the bytes can still send them again.
    public enum Integrity: Sendable {
        /// The signature covers the SHA-256 of the content, and puts carry it as `x-amz-checksum-sha256`, so that the store
        /// keeps it.
        case sha256
        /// The signature covers the SHA-256 of the content. For stores that refuse checksums.
        case signature
        /// Puts carry `x-amz-checksum-crc32c`, which takes neither side a tenth of the time, and their content is not signed.
        /// Counts as `sha256` where neither TLS nor the machine itself guards the way.
        case crc32c
    }

    public var integrity = Integrity.sha256
    /// Whether small objects that are put at the same time travel as one archive, which the store takes apart
    /// (`x-amz-meta-snowball-auto-extract`, as MinIO has it from Amazon's Snowball), and those that are read at the same time as one
    /// that it makes. For `ferry-server`, which answers how many there are.
    package var usesArchives = false
    /// How long a transfer may stand still.
    public var stall: Duration = .seconds(30)
    public var connect: Duration = .seconds(10)

    let isSecure: Bool
    /// As in the `Host` field.
    let host: String
    /// Without a slash at its end.
    let path: String

    /// Throws `.invalid` for an endpoint that is no http or https URL and for a bucket name that no store accepts.
    public init(
        endpoint: String, bucket: String, region: String = "us-east-1", addressing: Addressing = .path
    ) throws(ObjectStorageError) {
        let isSecure = endpoint.hasPrefix("https://")
        guard isSecure || endpoint.hasPrefix("http://") else {
            throw ObjectStorageError(.invalid, "the endpoint \(endpoint) is no http:// or https:// URL")
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

    /// Whether nobody on the way can change what is sent.
    var guardsWay: Bool {
        isSecure || ["127.0.0.1", "[::1]", "localhost"].contains { host == $0 || host.hasPrefix("\($0):") }
    }

    private static func isBucketCharacter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
    }
}
