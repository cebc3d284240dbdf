package import IdentityProtocol
import SQLite

/// What the administrator does on the server's machine.
extension Accounts {
    package func list() async throws -> [Account] { try await store.accounts() }

    /// The account with an e-mail address, or an id. Throws `.userNotFound`.
    package func account(named name: String) async throws -> Account {
        if name.contains("@") {
            if let (account, _) = try await store.account(email: try Self.normalized(name)) { return account }
        } else if let account = try await store.account(id: name) {
            return account
        }
        throw IdentityError(
            .userNotFound, "No account has the e-mail or id '\(name)'. 'ferry-server user list' shows all of them.")
    }

    /// An account whose password its user sets with the code that is returned.
    package func add(email: String, expiresAt: Int64, now: Int64) async throws -> (account: Account, code: String) {
        let email = try Self.normalized(email)
        let account = try await store.create(email: email, password: nil, displayName: nil, now: now)
        return (account, try await passwordCode(for: account, expiresAt: expiresAt))
    }

    /// A code that sets the account's password once; the password of before is good until then.
    ///
    /// - Parameter expiresAt: seconds since 1970.
    /// - Throws: `IdentityError` with `.invalidEmail` for an anonymous account.
    package func passwordCode(for account: Account, expiresAt: Int64) async throws -> String {
        guard account.email != nil else {
            throw IdentityError(.invalidEmail, "An anonymous account has no password to set.")
        }
        let code = OneTimeCode.make()
        try await store.addPasswordCode(OneTimeCode.digest(code), for: account.id, expiresAt: expiresAt)
        return code
    }

    /// A code with which so many accounts can be made where the server asks for invitations.
    package func invite(uses: Int, expiresAt: Int64, now: Int64) async throws -> String {
        let code = OneTimeCode.make()
        try await store.addInvitation(OneTimeCode.digest(code), uses: uses, expiresAt: expiresAt, now: now)
        return code
    }

    /// Ends the sessions of an account and keeps it from new ones, or allows it again.
    ///
    /// - Parameter name: an e-mail or an id.
    package func setDisabled(_ isDisabled: Bool, named name: String, now: Int64) async throws -> Account {
        let account = try await account(named: name)
        let changed = try await store.update(account.id, [("disabled", .bool(isDisabled))])
        try await reload(now: now)
        return changed
    }

    /// Replaces the account's own quotas.
    package func setQuota(_ quota: AccountQuota.Override, of account: Account, now: Int64) async throws -> Account {
        let changed = try await store.update(
            account.id,
            [
                ("quota_object_bytes", .optional(quota.objectBytes)), ("quota_documents", .optional(quota.documents)),
                ("quota_requests", .optional(quota.requestsPerSecond)),
            ])
        try await reload(now: now)
        return changed
    }

    /// Deletes an account. Its documents and objects are removed by the server, which finds it among `removals`.
    package func delete(_ account: Account, now: Int64) async throws {
        try await store.delete(account.id, removesData: true, now: now)
        try await reload(now: now)
    }

    /// The ids of deleted accounts whose documents and objects are still to be removed.
    package func removals() async throws -> [String] { try await store.removals() }

    package func finishRemoval(of id: String) async throws { try await store.finishRemoval(of: id) }
}
