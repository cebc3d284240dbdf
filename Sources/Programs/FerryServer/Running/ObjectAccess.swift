import AccessControl
import HTTPMessages
import IdentityServer
import S3Server

/// The access keys of accounts, administrators and machines.
struct IdentityCredentials: S3CredentialSource {
    let storage: StorageCredentials

    func credential(accessKey: String, sessionToken: String?) -> S3Credential? {
        storage.lookup(accessKey: accessKey, sessionToken: sessionToken, now: WallClock.seconds()).map {
            S3Credential(secretKey: $0.secretKey, prefix: $0.prefix, uploads: $0.isAnonymous ? .anonymous : .lasting)
        }
    }
}

/// Lets users read the attachments of tasks in the lists that they share, and keeps bucket names
/// free of the server's other paths.
struct SharingPolicy: ObjectAccessPolicy {
    let objects: SharedObjects

    func allowsReading(_ key: String, in bucket: String, byAccountAt prefix: String) async throws -> Bool {
        guard bucket == ServerEndpoints.bucket else { return false }
        return try await objects.mayRead(key, by: String(prefix.dropLast()))
    }

    func allowsBucket(named name: String) -> Bool { !GooglePaths.contain("/\(name)") }
}

extension AccountQuotas: ObjectQuotas {}
