import Cryptography

/// A password as it is kept: `salt ‖ scrypt(password, salt)`, 16 and 32 bytes, with the cost that made it.
struct PasswordHash: Sendable, Hashable {
    static let saltSize = 16

    let bytes: [UInt8]
    let cost: Int

    /// Blocks for as long as scrypt takes.
    init(_ password: String, cost: Int) throws {
        let salt = RandomBytes.make(Self.saltSize)
        bytes = salt + (try Self.derive(password, salt[...], cost))
        self.cost = cost
    }

    /// As read from the store.
    init(bytes: [UInt8], cost: Int) {
        self.bytes = bytes
        self.cost = cost
    }

    /// Blocks for as long as scrypt takes.
    func matches(_ password: String) throws -> Bool {
        guard bytes.count == Self.saltSize + 32 else { return false }
        let derived = try Self.derive(password, bytes.prefix(Self.saltSize), cost)
        return ConstantTime.areEqual(derived, Array(bytes.dropFirst(Self.saltSize)))
    }

    private static func derive(_ password: String, _ salt: ArraySlice<UInt8>, _ cost: Int) throws -> [UInt8] {
        try Scrypt.derive(password: Array(password.utf8), salt: Array(salt), Scrypt.Parameters(cost: cost))
    }
}
