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
        if let found, found.isDisabled { throw IdentityError.accountDisabled }
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
        let account: Account
        if let found {
            account = try await store.change(found.id) { [server] current, database in
                guard current.email == email else { throw MailCodes.invalid }
                guard !current.isDisabled else { throw IdentityError.accountDisabled }
                try MailCodes.take(code, for: .signIn, now: now, in: database)
                return current.isEmailVerified
                    ? AccountChange() : try Self.confirmation(of: current, now: server.now(), in: database)
            }
            if account.validSince > found.validSince { try await accounts.reload(now: now) }
        } else {
            let invitation = try await accounts.admit(origin, now: now)
            try await store.mailCodes.take(code, for: .signIn, now: now)
            account = try await store.create(
                email: email, password: nil, displayName: nil, invitation: invitation, isEmailVerified: true,
                isManaged: true, now: now)
        }
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
            throw AccountStore.emailExists
        }
        let changed = try await store.change(account.id) { current, database in
            try Accounts.check(token, for: current)
            guard current.email == nil || current.email == email else {
                throw ToolkitRefusal(
                    "OPERATION_NOT_ALLOWED : The account has another address (VERIFY_AND_CHANGE_EMAIL).")
            }
            if !current.isAnonymous { try Accounts.checkFresh(token, now: now) }
            try MailCodes.take(code, for: .signIn, now: now, in: database)
            return AccountChange(values: [("email", .text(email)), ("email_verified", 1)])
        }
        return Outcome(tokens: try await accounts.signedIn(changed, .password, now: now), isNew: false)
    }

    /// Returns the change that gives an account to the user who has just proved its address.
    ///
    /// The account was made without that proof: a stranger can sign up with the address of another user,
    /// and wait for that user to sign in. So nothing by which the stranger could sign in stays: no
    /// password, provider, session, token or code. Neither do the mails in the morning, to which the
    /// stranger would have subscribed that user.
    private static func confirmation(
        of account: Account, now: Int64, in database: any AccountTransaction
    ) throws -> AccountChange {
        try MorningMails.remove(account.id, in: database)
        return AccountChange(
            values: AccountStore.values(of: nil, now: now) + [("email_verified", 1)],
            removedProviders: Set(account.links.map(\.provider)), endsSessionsAt: now, endsMailedCodes: true)
    }

    /// Applies the code of a mail that verifies or changes an address. Returns the account.
    func apply(code: String) async throws -> Account {
        let now = server.now()
        guard let entry = try await store.mailCodes.entry(of: code, now: now), let id = entry.account,
            entry.kind != .signIn, let found = try await store.account(id: id)
        else { throw MailCodes.invalid }
        let changed = try await store.change(id) { [server] account, database in
            guard account.email == entry.email else { throw MailCodes.invalid }
            guard !account.isDisabled else { throw IdentityError.accountDisabled }
            try MailCodes.take(code, for: entry.kind, now: now, in: database)
            guard let new = entry.newEmail else { return AccountChange(values: [("email_verified", 1)]) }
            return AccountChange(
                values: [("email", .text(new)), ("email_verified", 1)], endsSessionsAt: server.now(),
                endsMailedCodes: true)
        }
        if changed.validSince > found.validSince { try await accounts.reload(now: now) }
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
            let conflict = ProviderLinks.conflict(identity.link.provider)
            guard owner == nil || owner == account.id else { throw conflict }
            let changed = try await store.change(account.id, conflict: conflict) { current, database in
                try Accounts.check(token, for: current)
                return AccountChange(
                    values: try Self.completion(of: current, with: identity, in: database),
                    link: current.isLinked(to: identity.link) ? nil : identity.link)
            }
            return .signedIn(Outcome(tokens: try await accounts.signedIn(changed, provider, now: now), isNew: false))
        }
        if let owner {
            // The link may have been removed meanwhile.
            guard let account = try await store.account(id: owner), account.isLinked(to: identity.link) else {
                throw IdentityError(.userNotFound, "The account does not exist any more.")
            }
            guard !account.isDisabled else { throw IdentityError.accountDisabled }
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
            isEmailVerified: email != nil, link: identity.link, now: now)
        let changed = try await store.change(account.id) { current, database in
            guard current.validSince == account.validSince else { throw IdentityError.sessionEnded }
            return AccountChange(values: try Self.completion(of: current, with: identity, in: database))
        }
        return .signedIn(Outcome(tokens: try await accounts.signedIn(changed, provider, now: now), isNew: true))
    }

    /// Returns what the provider knows and the account does not have.
    private static func completion(
        of account: Account, with identity: FederatedIdentity, in database: any AccountTransaction
    ) throws -> [(column: String, value: StoredValue)] {
        var values: [(column: String, value: StoredValue)] = []
        if account.displayName == nil, let name = identity.link.displayName {
            values.append(("display_name", .text(name)))
        }
        if account.photoURL == nil, let url = identity.link.photoURL { values.append(("photo_url", .text(url))) }
        guard identity.isEmailVerified, let email = try identity.link.email.map(Accounts.normalized) else {
            return values
        }
        if account.email == email, !account.isEmailVerified { values.append(("email_verified", 1)) }
        if account.email == nil,
            try database.first("SELECT 1 FROM account WHERE email=?", [.text(email)], { _ in true }) == nil
        {
            values += [("email", .text(email)), ("email_verified", 1)]
        }
        return values
    }
}
