import ObjectStorage

/// A bucket of another S3 store that holds the attachments instead of this server. Machines access
/// it with keys of their own.
package struct ForeignBucket: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, the host, and the port unless it is the scheme's default.
    package let url: String
    package let bucket: String
    package let region: String

    /// Parses a URL such as `https://s3.example.org/tasks`; returns nil unless it is `http` or
    /// `https` with a host and a bucket.
    package init?(_ text: String, region: String) {
        var text = text[...]
        while text.hasSuffix("/") { text.removeLast() }
        guard let slash = text.lastIndex(of: "/"), !text[..<slash].hasSuffix("/"), !region.isEmpty,
            region.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") })
        else { return nil }
        (url, bucket) = (String(text[..<slash]), String(text[text.index(after: slash)...]))
        self.region = region
        guard (try? S3Configuration(endpoint: url, bucket: bucket, region: region)) != nil else { return nil }
    }

    package var description: String { "\(url)/\(bucket)" }
}
