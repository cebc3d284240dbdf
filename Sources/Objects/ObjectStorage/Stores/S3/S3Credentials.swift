import Glibc

/// Keys for an S3 store.
public struct S3Credentials: Sendable, CustomStringConvertible {
    /// Gives keys that are good from now on. Called again when those it gave before are about to expire or are refused.
    public typealias Provider = @Sendable () async throws -> S3Credentials

    public let accessKey: String
    public let secretKey: String
    /// For temporary keys, as STS gives them.
    public let sessionToken: String?
    /// In seconds since 1970; nil for keys that stay good.
    public let expires: Int64?

    public init(accessKey: String, secretKey: String, sessionToken: String? = nil, expires: Int64? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.expires = expires
    }

    /// From `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; nil where they are not set.
    public static func fromEnvironment() -> S3Credentials? {
        func value(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let accessKey = value("AWS_ACCESS_KEY_ID"), let secretKey = value("AWS_SECRET_ACCESS_KEY") else {
            return nil
        }
        return S3Credentials(
            accessKey: accessKey, secretKey: secretKey, sessionToken: value("AWS_SESSION_TOKEN"))
    }

    /// Shows no secret.
    public var description: String { "keys \(accessKey)" }
}
