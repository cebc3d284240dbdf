import Cryptography

/// A password in its stored form: `salt ‖ scrypt(password, salt)`, 16 and 32 bytes, and the cost
/// that was used.
struct PasswordHash: Sendable, Hashable {
    static let saltSize = 16

    let bytes: [UInt8]
    let cost: Int

    /// Hashes a password with a new salt. Blocks for as long as scrypt takes.
    init(_ password: String, cost: Int) throws {
        let salt = RandomBytes.make(Self.saltSize)
        bytes = salt + (try Self.derive(password, salt[...], cost))
        self.cost = cost
    }

    /// Creates a hash from its stored form.
    init(bytes: [UInt8], cost: Int) {
        self.bytes = bytes
        self.cost = cost
    }

    /// Whether the password is the right one. Blocks for as long as scrypt takes.
    func matches(_ password: String) throws -> Bool {
        guard bytes.count == Self.saltSize + 32 else { return false }
        let derived = try Self.derive(password, bytes.prefix(Self.saltSize), cost)
        return ConstantTime.areEqual(derived, Array(bytes.dropFirst(Self.saltSize)))
    }

    private static func derive(_ password: String, _ salt: ArraySlice<UInt8>, _ cost: Int) throws -> [UInt8] {
        try Scrypt.derive(password: Array(password.utf8), salt: Array(salt), Scrypt.Parameters(cost: cost))
    }
}
