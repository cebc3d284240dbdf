import SystemIO

/// The credentials for an S3 store.
public struct S3Credentials: Sendable, CustomStringConvertible {
    /// Returns currently valid credentials. It is called again when those it returned before are
    /// about to expire or are rejected.
    public typealias Provider = @Sendable () async throws -> S3Credentials

    /// The id of the key.
    public let accessKey: String
    /// The secret of the key.
    public let secretKey: String
    /// The token of temporary credentials, as issued by STS.
    public let sessionToken: String?
    /// The time at which the credentials expire, in seconds since 1970; nil if they do not expire.
    public let expires: Int64?

    /// Creates credentials.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil, expires: Int64? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.expires = expires
    }

    /// Returns the credentials from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`; nil if they are not set.
    public static func fromEnvironment() -> S3Credentials? {
        guard let accessKey = ProcessEnvironment["AWS_ACCESS_KEY_ID"],
            let secretKey = ProcessEnvironment["AWS_SECRET_ACCESS_KEY"]
        else { return nil }
        return S3Credentials(
            accessKey: accessKey, secretKey: secretKey, sessionToken: ProcessEnvironment["AWS_SESSION_TOKEN"])
    }

    /// A text without secrets.
    public var description: String { "keys \(accessKey)" }
}
