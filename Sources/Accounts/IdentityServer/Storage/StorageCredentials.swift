import Cryptography
import JSON
import Synchronization

/// Issues and recognizes the credentials of the object store.
///
/// The server stores no temporary credentials. A session token is
/// `base64url(payload).base64url(HMAC(secret, payload))` with the payload
/// `{"k": access key, "u": user, "i": issued, "e": expires, "a": anonymous}`, and the secret key is
/// an HMAC over the access key and the payload. Administrators' keys are stored, with secrets that
/// are derived the same way.
package final class StorageCredentials: Sendable {
    /// The allowed lifetimes in seconds, from 15 minutes to 12 hours as in AWS.
    package static let lifetimes: ClosedRange<Int64> = 900...43200

    private let secret: [UInt8]
    private let store: AccountStore
    private let revocations: Revocations
    private let administrators: Mutex<Set<String>>

    init(_ store: AccountStore, _ revocations: Revocations) async throws {
        secret = try await store.storageSecret()
        self.store = store
        self.revocations = revocations
        administrators = Mutex(Set(try await store.storageKeys().map(\.accessKey)))
    }

    /// Issues a temporary credential for a user.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime in seconds, within `lifetimes`.
    ///   - now: The time in seconds since 1970.
    ///   - tokenIssuedAt: The time of issue of the ID token that the credential is for, with which it is
    ///     revoked; nil for now.
    package func issue(
        for user: String, isAnonymous: Bool = false, lifetime: Int64, now: Int64, tokenIssuedAt: Int64? = nil
    ) -> StorageCredential {
        let accessKey = Self.newAccessKey("ASIA")
        let payload = JSON.object([
            "k": .string(accessKey), "u": .string(user), "i": .integer(tokenIssuedAt ?? now),
            "e": .integer(now + lifetime), "a": .boolean(isAnonymous),
        ]).bytes
        let parts = [payload, authenticate("session", payload)]
        return StorageCredential(
            accessKey: accessKey, secretKey: secretKey(accessKey, payload),
            sessionToken: parts.map { Base64.encode($0, alphabet: .url) }.joined(separator: "."), userID: user,
            isAnonymous: isAnonymous, expiresAt: now + lifetime)
    }

    /// Returns the credential of an access key; nil if there is none, if the session token does not
    /// belong to it, if it has expired, or if the user's account is disabled.
    package func lookup(accessKey: String, sessionToken: String?, now: Int64) -> StorageCredential? {
        guard let sessionToken else {
            guard administrators.withLock({ $0.contains(accessKey) }) else { return nil }
            return StorageCredential(
                accessKey: accessKey, secretKey: secretKey(accessKey, []), sessionToken: nil, userID: nil,
                expiresAt: nil)
        }
        guard sessionToken.utf8.count <= 4096 else { return nil }
        let parts = sessionToken.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 2, let payload = Base64.decode(parts[0], alphabet: .url),
            let code = Base64.decode(parts[1], alphabet: .url),
            ConstantTime.areEqual(code, authenticate("session", payload)),
            let claims = try? JSON(parsing: payload, depth: 2), claims["k"]?.stringValue == accessKey,
            let user = claims["u"]?.stringValue, let issued = claims["i"]?.integerValue,
            let expires = claims["e"]?.integerValue, expires > now,
            !revocations.isRevoked(user: user, issuedAt: issued)
        else { return nil }
        return StorageCredential(
            accessKey: accessKey, secretKey: secretKey(accessKey, payload), sessionToken: sessionToken, userID: user,
            isAnonymous: claims["a"]?.booleanValue ?? false, expiresAt: expires)
    }

    // MARK: administrators' keys

    /// Creates a key with access to all objects.
    package func addAdministrator(label: String, now: Int64) async throws -> StorageCredential {
        let key = StorageKey(accessKey: Self.newAccessKey("AKIA"), label: label, createdAt: now)
        try await store.add(key)
        administrators.withLock { _ = $0.insert(key.accessKey) }
        return StorageCredential(
            accessKey: key.accessKey, secretKey: secretKey(key.accessKey, []), sessionToken: nil, userID: nil,
            expiresAt: nil)
    }

    package func list() async throws -> [StorageKey] { try await store.storageKeys() }

    /// Removes a key. Returns false if it did not exist.
    package func remove(_ accessKey: String) async throws -> Bool {
        administrators.withLock { _ = $0.remove(accessKey) }
        return try await store.removeStorageKey(accessKey)
    }

    /// Reloads the keys that another process has added or removed.
    package func reload() async throws {
        let keys = Set(try await store.storageKeys().map(\.accessKey))
        administrators.withLock { $0 = keys }
    }

    private func secretKey(_ accessKey: String, _ payload: [UInt8]) -> String {
        Base64.encode(Array(authenticate("secret", Array(accessKey.utf8) + payload).prefix(30)))
    }

    private func authenticate(_ purpose: String, _ bytes: [UInt8]) -> [UInt8] {
        HMACSHA256.authenticate(Array("ferry storage \(purpose)\n".utf8) + bytes, key: secret).bytes
    }

    private static func newAccessKey(_ prefix: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        return prefix + String(decoding: RandomBytes.make(16).map { alphabet[Int($0 & 31)] }, as: UTF8.self)
    }
}
