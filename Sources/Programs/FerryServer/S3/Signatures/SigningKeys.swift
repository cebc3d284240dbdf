import Cryptography
import Synchronization

/// The keys that requests are signed with. One is made from a secret by four HMACs, and the same for a day, so those that were
/// asked for are remembered.
final class SigningKeys: Sendable {
    private struct Name: Hashable {
        let secret: String
        let scope: String
    }

    private static let limit = 256
    private let known = Mutex<[Name: [UInt8]]>([:])

    /// - Parameter scope: `date/region/service/aws4_request`.
    func key(secret: String, scope: String) -> [UInt8] {
        let name = Name(secret: secret, scope: scope)
        if let key = known.withLock({ $0[name] }) { return key }
        let key = scope.split(separator: "/", omittingEmptySubsequences: false).reduce(Array("AWS4\(secret)".utf8)) {
            key, part in HMACSHA256.authenticate(String(part), key: key).bytes
        }
        known.withLock { known in
            if known.count >= Self.limit { known.removeAll() }
            known[name] = key
        }
        return key
    }
}
