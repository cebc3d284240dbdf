package import IdentityProtocol

/// The operations of an administrator on the server's machine.
extension Accounts {
    package func list() async throws -> [Account] { try await store.accounts() }

    /// Returns the account with an e-mail address or an id. Throws `.userNotFound`.
    package func account(named name: String) async throws -> Account {
        if name.contains("@") {
            if let (account, _) = try await store.account(email: try Self.normalized(name)) { return account }
        } else if let account = try await store.account(id: name) {
            return account
        }
        throw IdentityError(
            .userNotFound, "No account has the e-mail or id '\(name)'. 'ferry-server user list' shows all of them.")
    }

    /// Creates an account whose user sets its password with the returned code.
    package func add(email: String, expiresAt: Int64, now: Int64) async throws -> (account: Account, code: String) {
        let email = try Self.normalized(email)
        let account = try await store.create(email: email, password: nil, displayName: nil, now: now)
        return (account, try await passwordCode(for: account, expiresAt: expiresAt))
    }

    /// Returns a code that sets the account's password once. Until it is used, the old password
    /// stays valid.
    ///
    /// - Parameter expiresAt: The expiration of the code, in seconds since 1970.
    /// - Throws: `IdentityError` with `.invalidEmail` for an anonymous account.
    package func passwordCode(for account: Account, expiresAt: Int64) async throws -> String {
        guard account.email != nil else {
            throw IdentityError(.invalidEmail, "An anonymous account has no password to set.")
        }
        let code = OneTimeCode.make()
        try await store.addPasswordCode(OneTimeCode.digest(code), for: account, expiresAt: expiresAt)
        return code
    }

    /// Returns an invitation code with which `uses` accounts can be created on a server that
    /// requires invitations.
    package func invite(uses: Int, expiresAt: Int64, now: Int64) async throws -> String {
        let code = OneTimeCode.make()
        try await store.addInvitation(OneTimeCode.digest(code), uses: uses, expiresAt: expiresAt, now: now)
        return code
    }

    /// Disables or enables an account. Disabling ends its sessions and prevents new ones.
    ///
    /// - Parameter name: An e-mail address or an id.
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

    /// Deletes an account. The server removes its documents and objects, because the account is
    /// among `removals`.
    package func delete(_ account: Account, now: Int64) async throws {
        try await store.delete(account.id, removesData: true, now: now)
        try await reload(now: now)
    }

    /// Returns the ids of deleted accounts whose documents and objects have not been removed.
    package func removals() async throws -> [String] { try await store.removals() }

    package func finishRemoval(of id: String) async throws { try await store.finishRemoval(of: id) }
}
