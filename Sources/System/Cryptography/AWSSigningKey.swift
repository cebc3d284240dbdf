/// The key derivation of AWS Signature Version 4 ("Create a signed AWS API request", AWS Identity
/// and Access Management User Guide).
package enum AWSSigningKey {
    /// Returns the key that signs requests of a scope: an HMAC for each part of the scope, the
    /// first one keyed with the secret.
    ///
    /// - Parameter scope: `date/region/service/aws4_request`.
    package static func derive(secret: String, scope: String) -> [UInt8] {
        scope.split(separator: "/", omittingEmptySubsequences: false).reduce(Array("AWS4\(secret)".utf8)) { key, part in
            HMACSHA256.authenticate(String(part), key: key).bytes
        }
    }
}
