import IdentityProtocol
import JSON

/// Signing in with what another party vouches for: a custom token of an administrator's program, an
/// OpenID provider's token, or a mail.
struct ExternalSignIn: Sendable {
    let server: IdentityService

    private var accounts: Accounts { server.accounts }
    private var store: AccountStore { server.accounts.store }

    struct Outcome: Sendable {
        let tokens: Accounts.Tokens
        let isNew: Bool
    }

    // MARK: custom tokens

    /// Signs in with a custom token, and creates its account if there is none: the signer is an
    /// administrator.
    func signIn(customToken text: String) async throws -> Outcome {
        let now = server.now()
        let token = try server.serviceKeys.customToken(text, now: now)
        let found = try await store.account(id: token.userID)
        if let found, found.isDisabled { throw Accounts.disabled }
        let account =
            if let found { found } else {
                try await store.create(
                    id: token.userID, email: nil, password: nil, displayName: nil, isManaged: true, now: now)
            }
        // It may have been deleted before, and its new tokens must not be taken for the old ones.
        if found == nil { try await accounts.reload(now: now) }
        return Outcome(
            tokens: try await accounts.signedIn(account, .custom, claims: token.claims, now: now), isNew: found == nil)
    }

    // MARK: mails

    /// Signs in with the code of a mail, and creates the account if there is none and the server's
    /// policy allows it.
    ///
    /// - Parameter token: The ID token of the account that gets the address; nil to sign in.
    func signIn(
        email: String, code: String, linkingTo token: VerifiedToken?, from origin: Accounts.SignUpOrigin
    ) async throws -> Outcome {
        let now = server.now()
        let email = try Accounts.normalized(email)
        guard let entry = try await store.mailCodes.entry(of: code, now: now), entry.kind == .signIn else {
            throw ToolkitRefusal("INVALID_OOB_CODE")
        }
        guard entry.email == email else { throw ToolkitRefusal("INVALID_EMAIL") }
        let found = try await store.account(email: email)?.0
        if let token { return try await link(email, code: code, usedBy: found, to: token, now: now) }
        if let found, found.isDisabled { throw Accounts.disabled }
        let invitation = found == nil ? try await accounts.admit(origin, now: now) : nil
        try await take(code, now: now)
        var account =
            if let found { found } else {
                try await store.create(
                    email: email, password: nil, displayName: nil, invitation: invitation, isManaged: true, now: now)
            }
        if !account.isEmailVerified { account = try await confirm(account, now: now) }
        return Outcome(tokens: try await accounts.signedIn(account, .password, now: now), isNew: found == nil)
    }

    /// Gives the address of a mail's code to an account that has none, which keeps its id and data.
    ///
    /// - Throws: `IdentityError` with `.emailExists` if another account has the address. The code can
    ///   then still be used, to sign in to that account.
    private func link(
        _ email: String, code: String, usedBy owner: Account?, to token: VerifiedToken, now: Int64
    ) async throws -> Outcome {
        let account = try await accounts.account(of: token)
        if let owner, owner.id != account.id {
            throw IdentityError(.emailExists, "An account with this e-mail exists already. Sign in to it.")
        }
        guard account.email == nil || account.email == email else {
            throw ToolkitRefusal("OPERATION_NOT_ALLOWED : The account has another address (VERIFY_AND_CHANGE_EMAIL).")
        }
        if !account.isAnonymous { try Accounts.checkFresh(token, now: now) }
        try await take(code, now: now)
        let changed = try await store.update(account.id, [("email", .text(email)), ("email_verified", 1)])
        return Outcome(tokens: try await accounts.signedIn(changed, .password, now: now), isNew: false)
    }

    private func take(_ code: String, now: Int64) async throws {
        guard try await store.mailCodes.take(code, for: .signIn, now: now) != nil else {
            throw ToolkitRefusal("INVALID_OOB_CODE")
        }
    }

    /// Marks the address of an account as that of its user, who has just proved it.
    ///
    /// The account was made without that proof: a stranger can sign up with the address of another user,
    /// and wait for that user to sign in. So its password and its providers no longer sign in.
    private func confirm(_ account: Account, now: Int64) async throws -> Account {
        guard account.hasPassword || !account.links.isEmpty else {
            return try await store.update(account.id, [("email_verified", 1)])
        }
        try await store.links.remove(Set(account.links.map(\.provider)), from: account.id)
        let changed = try await store.update(
            account.id,
            [
                ("email_verified", 1), ("valid_since", .integer(now)), ("password", .null), ("password_cost", .null),
                ("password_updated_at", .null),
            ])
        try await store.closeSessions(of: account.id)
        try await accounts.reload(now: now)
        return changed
    }

    /// Applies the code of a mail that verifies or changes an address. Returns the account.
    func apply(code: String) async throws -> Account {
        let now = server.now()
        guard let entry = try await store.mailCodes.entry(of: code, now: now), let id = entry.account,
            let account = try await store.account(id: id), account.email == entry.email, entry.kind != .signIn,
            try await store.mailCodes.take(code, for: entry.kind, now: now) != nil
        else { throw ToolkitRefusal("INVALID_OOB_CODE") }
        guard !account.isDisabled else { throw Accounts.disabled }
        guard let new = entry.newEmail else { return try await store.update(id, [("email_verified", 1)]) }
        let changed = try await store.update(
            id, [("email", .text(new)), ("email_verified", 1), ("valid_since", .integer(now))])
        try await store.closeSessions(of: id)
        try await accounts.reload(now: now)
        return changed
    }

    // MARK: OpenID providers

    /// The result of a sign-in with a provider that opened no session.
    enum ProviderOutcome: Sendable {
        case signedIn(Outcome)
        /// The provider's account has an address of an account that it is not linked to. The user
        /// signs in to that account first, and links then.
        case needsConfirmation(Account)
    }

    /// Signs in with an account at a provider, whose token was verified.
    ///
    /// - Parameter token: The ID token of the account to link to; nil to sign in.
    /// - Throws: `IdentityError` with `.alreadyLinked` if the account at the provider signs in to
    ///   another account than the token's. Nothing is changed then.
    func signIn(
        with identity: FederatedIdentity, linkingTo token: VerifiedToken?, from origin: Accounts.SignUpOrigin
    ) async throws -> ProviderOutcome {
        let now = server.now()
        let provider = SignInProvider(rawValue: identity.link.provider)
        let owner = try await store.links.account(provider: identity.link.provider, subject: identity.link.subject)
        if let token {
            let account = try await accounts.account(of: token)
            if owner != account.id {
                guard owner == nil else {
                    throw IdentityError(
                        .alreadyLinked, "This account at \(identity.link.provider) signs in to another account.")
                }
                try await store.links.add(identity.link, to: account.id)
            }
            let changed = try await complete(account, with: identity)
            return .signedIn(Outcome(tokens: try await accounts.signedIn(changed, provider, now: now), isNew: false))
        }
        if let owner {
            guard let account = try await store.account(id: owner) else {
                throw IdentityError(.userNotFound, "The account does not exist any more.")
            }
            guard !account.isDisabled else { throw Accounts.disabled }
            return .signedIn(Outcome(tokens: try await accounts.signedIn(account, provider, now: now), isNew: false))
        }
        let email = identity.isEmailVerified ? try identity.link.email.map(Accounts.normalized) : nil
        if let email, let (account, _) = try await store.account(email: email) {
            // A verified address at a provider does not prove the password of the account here.
            return .needsConfirmation(account)
        }
        let invitation = try await accounts.admit(origin, now: now)
        let account = try await store.create(
            email: email, password: nil, displayName: identity.link.displayName, invitation: invitation,
            link: identity.link, now: now)
        let changed = try await complete(account, with: identity)
        return .signedIn(Outcome(tokens: try await accounts.signedIn(changed, provider, now: now), isNew: true))
    }

    /// Takes over from the provider what the account does not have.
    private func complete(_ account: Account, with identity: FederatedIdentity) async throws -> Account {
        var account = account
        if account.displayName == nil, let name = identity.link.displayName {
            account = try await store.update(account.id, [("display_name", .text(name))])
        }
        if account.photoURL == nil, let url = identity.link.photoURL {
            account = try await store.update(account.id, [("photo_url", .text(url))])
        }
        guard identity.isEmailVerified, let email = try identity.link.email.map(Accounts.normalized) else {
            return try await store.account(id: account.id) ?? account
        }
        if account.email == email, !account.isEmailVerified {
            return try await store.update(account.id, [("email_verified", 1)])
        }
        if account.email == nil, try await store.account(email: email) == nil {
            return try await store.update(account.id, [("email", .text(email)), ("email_verified", 1)])
        }
        return try await store.account(id: account.id) ?? account
    }
}
