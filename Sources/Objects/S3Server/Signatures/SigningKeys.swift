import Cryptography
import Synchronization

/// A cache of the keys that sign requests, because a client uses the same key for a day.
final class SigningKeys: Sendable {
    private struct Name: Hashable {
        let secret: String
        let scope: String
    }

    private static let limit = 256
    private let known = Mutex<[Name: [UInt8]]>([:])

    /// Returns the key of a secret for a scope, `date/region/service/aws4_request`.
    func key(secret: String, scope: String) -> [UInt8] {
        let name = Name(secret: secret, scope: scope)
        if let key = known.withLock({ $0[name] }) { return key }
        let key = AWSSigningKey.derive(secret: secret, scope: scope)
        known.withLock { known in
            if known.count >= Self.limit { known.removeAll() }
            known[name] = key
        }
        return key
    }
}
