/// A secret that signs requests, and the keys that it may use.
package struct S3Credential: Sendable {
    let secretKey: String
    /// The prefix of the keys that it may use; nil for an administrator, who may use every bucket
    /// and key.
    let prefix: String?
    /// The limits of the account's unfinished multipart uploads. They do not apply to
    /// administrators.
    let uploads: UploadLimits

    package init(secretKey: String, prefix: String?, uploads: UploadLimits = .lasting) {
        self.secretKey = secretKey
        self.prefix = prefix
        self.uploads = uploads
    }

    /// Whether an operation on exactly this key is allowed.
    func allows(key: String) -> Bool { prefix.map { key.utf8.starts(with: $0.utf8) } ?? true }

    var isAdministrator: Bool { prefix == nil }
}
