import AccessControl
import HTTPMessages
import IdentityServer
import S3Server
import ServerData

/// The source of the access keys of accounts, administrators and machines.
struct IdentityCredentials: S3CredentialSource {
    let storage: StorageCredentials

    func credential(accessKey: String, sessionToken: String?) -> S3Credential? {
        storage.lookup(accessKey: accessKey, sessionToken: sessionToken, now: WallClock.seconds()).map {
            S3Credential(secretKey: $0.secretKey, prefix: $0.prefix, uploads: $0.isAnonymous ? .anonymous : .lasting)
        }
    }
}

/// A policy that lets users read the attachments of tasks in lists that they share, and refuses
/// bucket names that are paths of the server.
struct SharingPolicy: ObjectAccessPolicy {
    let objects: SharedObjects

    func allowsReading(_ key: String, in bucket: String, byAccountAt prefix: String) async throws -> Bool {
        guard bucket == DataLayout.bucket else { return false }
        return try await objects.mayRead(key, by: String(prefix.dropLast()))
    }

    func allowsBucket(named name: String) -> Bool { !GooglePaths.contain("/\(name)") }
}

extension AccountQuotas: ObjectQuotas {}
