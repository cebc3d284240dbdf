import Cryptography

/// The format of an id: a kind, 8 bytes that are its age (for read-only transactions its read
/// time), 8 random bytes, and the first 16 bytes of an HMAC-SHA-256 over these and the account.
extension TransactionID {
    enum Kind: UInt8 {
        case readWrite = 1
        case readOnly = 2
    }

    private static let contentCount = 17
    private static let codeCount = 16

    init(_ kind: Kind, number: UInt64, nonce: UInt64, account: String?, key: [UInt8]) {
        var bytes = [kind.rawValue]
        for word in [number, nonce] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        self.init(bytes: bytes + Self.code(of: bytes, account, key), account: account)
    }

    /// The kind that the bytes contain; nil for bytes that no store created. They may be forged:
    /// see `isAuthentic`.
    var kind: Kind? {
        bytes.count == Self.contentCount + Self.codeCount ? bytes.first.flatMap(Kind.init) : nil
    }

    var number: UInt64 { bytes.dropFirst().prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// Whether the id was created with `key` for the account that uses it. Takes constant time.
    func isAuthentic(_ key: [UInt8]) -> Bool {
        guard kind != nil else { return false }
        let content = Array(bytes.prefix(Self.contentCount))
        return ConstantTime.areEqual(Array(bytes.suffix(Self.codeCount)), Self.code(of: content, account, key))
    }

    private static func code(of content: [UInt8], _ account: String?, _ key: [UInt8]) -> [UInt8] {
        // The content has a fixed length, so the account that follows it is unambiguous.
        let owner: [UInt8] = account.map { [1] + Array($0.utf8) } ?? [0]
        return Array(HMACSHA256.authenticate(content + owner, key: key).bytes.prefix(codeCount))
    }
}
