@testable import S3Server

/// One access key without a session token.
struct OneKey: S3CredentialSource {
    let accessKey: String
    let credential: S3Credential

    func credential(accessKey: String, sessionToken: String?) -> S3Credential? {
        accessKey == self.accessKey && sessionToken == nil ? credential : nil
    }
}
