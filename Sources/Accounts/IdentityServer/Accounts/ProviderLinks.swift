import IdentityProtocol

/// The accounts at OpenID providers that sign in to accounts.
struct ProviderLinks: Sendable {
    let database: any AccountDatabase

    /// Returns the id of the account that a provider's account signs in to; nil for none.
    func account(provider: String, subject: String) async throws -> String? {
        try await database.read { database in
            try database.first(
                "SELECT account FROM provider_link WHERE provider=? AND subject=?", [.text(provider), .text(subject)]
            ) { $0.text(0) }
        }
    }

    /// Links a provider's account to an account.
    ///
    /// - Throws: `IdentityError` with `.alreadyLinked` if it signs in to another account, or if the
    ///   account has another one of the same provider.
    func add(_ link: ProviderLink, to account: String) async throws {
        do {
            try await database.transaction { try Self.insert(link, for: account, in: $0) }
        } catch is ConstraintViolation {
            throw Self.conflict(link.provider)
        }
    }

    /// The error for a provider's account that signs in to another account.
    static func conflict(_ provider: String) -> IdentityError {
        IdentityError(.alreadyLinked, "This account at \(provider) signs in to another account.")
    }

    func remove(_ providers: Set<String>, from account: String) async throws {
        try await database.transaction { database in
            for provider in providers {
                try database.execute(
                    "DELETE FROM provider_link WHERE account=? AND provider=?", [.text(account), .text(provider)])
            }
        }
    }

    static func insert(_ link: ProviderLink, for account: String, in database: any AccountTransaction) throws {
        try database.execute(
            "INSERT INTO provider_link(provider, subject, account, email, display_name, photo_url) VALUES(?,?,?,?,?,?)",
            [
                .text(link.provider), .text(link.subject), .text(account), .optional(link.email),
                .optional(link.displayName), .optional(link.photoURL),
            ])
    }
}
