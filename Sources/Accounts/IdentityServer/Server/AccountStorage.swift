package import PostgreSQL

/// The place of the accounts and of the keys of their tokens.
package enum AccountStorage: Sendable {
    /// A directory that one server uses, with `accounts.sqlite` and `signing-keys.pem`, both of mode
    /// 0600.
    case directory(String)
    /// A database that several servers may use at once, and those servers; nil if none is to be
    /// notified.
    case database(PostgresConfiguration, PostgresPeers?)
}

/// The stored signing keys: a file, or a secret of the database.
enum SigningKeyStorage: Sendable {
    case file(String)
    case database(AccountStore)

    /// The name of the secret in the database.
    static let secret = "signing-keys"
    private static let place = "The database"

    /// Returns the keys. The first one is created if there is none.
    func keys() async throws -> SigningKeys {
        switch self {
        case .file(let path): try SigningKeys(path: path)
        case .database(let store):
            try SigningKeys(
                pem: try await store.secret(Self.secret) { try SigningKeys().pem() }, place: Self.place)
        }
    }

    /// Adds a key that signs from `time` on.
    func rotate(signingFrom time: Int64) async throws {
        while true {
            switch self {
            case .file(let path):
                var keys = try SigningKeys(path: path)
                try keys.rotate(signingFrom: time)
                return try keys.write(to: path)
            case .database(let store):
                let old = try await store.secret(Self.secret) { try SigningKeys().pem() }
                var keys = try SigningKeys(pem: old, place: Self.place)
                try keys.rotate(signingFrom: time)
                if try await store.replaceSecret(Self.secret, old, with: try keys.pem()) { return }
            }
        }
    }
}
