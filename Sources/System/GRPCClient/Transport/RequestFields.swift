import GRPCProtocol

/// The header fields of a request (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md,
/// Requests).
extension HeaderFields {
    /// Returns the header fields of a request.
    ///
    /// - Parameter timeout: The remaining time of the call.
    static func request(
        _ path: String, authority: String, isSecure: Bool, userAgent: String, timeout: Duration?,
        _ metadata: GRPCMetadata
    ) -> HeaderFields {
        var fields = HeaderFields()
        fields.add(":method", "POST")
        fields.add(":scheme", isSecure ? "https" : "http")
        fields.add(":path", path)
        fields.add(":authority", authority)
        fields.add("te", "trailers")
        fields.add("content-type", "application/grpc")
        fields.add("user-agent", userAgent)
        fields.add("grpc-accept-encoding", MessageEncoding.accepted)
        if let timeout { fields.add("grpc-timeout", Self.timeout(timeout)) }
        fields.add(metadata)
        return fields
    }

    /// Returns a timeout as at most eight digits and a unit, rounded up.
    static func timeout(_ duration: Duration) -> String {
        let (seconds, attoseconds) = max(.zero, duration).components
        let largest: Int64 = 99_999_999
        if seconds < largest / 1000 {
            let rest = attoseconds / 1_000_000_000_000_000
            return "\(seconds * 1000 + rest + (attoseconds % 1_000_000_000_000_000 > 0 ? 1 : 0))m"
        }
        if seconds < largest { return "\(seconds + 1)S" }
        return "\(min(seconds / 3600 + 1, largest))H"
    }
}
