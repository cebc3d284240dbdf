import Cryptography
package import IdentityProtocol
import JSON
import Synchronization

/// The rules of signing up, signing in and changing an account.
///
/// Times are passed in, as seconds since 1970 by the server's clock.
package final class Accounts: Sendable {
    package struct Tokens: Sendable {
        package let account: Account
        package let idToken: String
        package let refreshToken: String
    }

    static let passwordLengths = 6...1024
    /// The maximum age in seconds of the sign-in for changes that could lock out the owner.
    static let freshness: Int64 = 900
    /// The number of accounts that an address may create at once; afterwards it may create one per
    /// minute.
    static let signUpBurst = 20.0
    /// The number of unknown e-mail addresses that an account may look up at once.
    /// `lookupBurstPerAddress` is the number for all accounts behind a network address.
    static let lookupBurst = 10.0
    static let lookupBurstPerAddress = 50.0

    /// The settings of `IdentityService.Configuration` about who may create an account.
    struct Policy: Sendable {
        var signUp = SignUpPolicy.open
        /// Whether sign-ups are counted at all.
        var limitsSignUps = true
        /// Whether requests from this machine come through a proxy.
        var isBehindProxy = false

        /// Whether sign-ups from an address are counted. Without a proxy, requests from this
        /// machine come from the operator's own programs.
        func counts(_ address: NetworkAddress) -> Bool { limitsSignUps && (isBehindProxy || !address.isLoopback) }
    }

    let store: AccountStore
    let revocations = Revocations()
    let issuer: TokenIssuer
    /// Returns the time inside a transaction, in which a time that was passed in may have gone by.
    private let clock: @Sendable () -> Int64
    private let passwordCost: Int
    private let policy: Policy
    private let hasher = PasswordHasher()
    let limits: RateLimits
    private let quotas = Mutex<[String: AccountQuota.Override]>([:])
    /// The hash to compare with if there is no account, so that the response time reveals nothing.
    private let decoy: PasswordHash

    init(
        _ store: AccountStore, _ issuer: TokenIssuer, passwordCost: Int, _ policy: Policy = Policy(),
        clock: @escaping @Sendable () -> Int64
    ) throws {
        self.store = store
        self.clock = clock
        self.policy = policy
        self.issuer = issuer
        limits = store.database.isShared ? .database(store.database) : .memory(RateLimitsInMemory())
        self.passwordCost = passwordCost
        decoy = PasswordHash(bytes: RandomBytes.make(PasswordHash.saltSize + 32), cost: passwordCost)
    }

    // MARK: signing up and in

    /// The origin of a sign-up: the network address, and the invitation if there is one.
    package struct SignUpOrigin: Sendable {
        package var address: NetworkAddress
        package var invitation: String?

        package init(address: NetworkAddress, invitation: String? = nil) {
            self.address = address
            self.invitation = invitation
        }
    }

    package func signUpAnonymously(from origin: SignUpOrigin, now: Int64) async throws -> Tokens {
        let invitation = try await admit(origin, now: now)
        let account = try await store.create(
            email: nil, password: nil, displayName: nil, invitation: invitation, now: now)
        return try await signedIn(account, .anonymous, now: now)
    }

    package func signUp(
        email: String, password: String, displayName: String? = nil, from origin: SignUpOrigin, now: Int64
    ) async throws -> Tokens {
        let email = try Self.normalized(email)
        try Self.check(password)
        // This comes before any statement about the e-mail address, so that strangers cannot find
        // out who has an account.
        let invitation = try await admit(origin, now: now)
        if try await store.account(email: email) != nil { throw Self.emailExists }
        let hash = try await hash(password, for: origin.address)
        let account = try await store.create(
            email: email, password: hash, displayName: displayName, invitation: invitation, now: now)
        return try await signedIn(account, .password, now: now)
    }

    /// Decides whether an account may be created, and counts it for the address.
    ///
    /// - Returns: The digest of the invitation to use up; nil if none is needed.
    func admit(_ origin: SignUpOrigin, now: Int64) async throws -> [UInt8]? {
        var invitation: [UInt8]?
        switch policy.signUp {
        case .open: break
        case .closed:
            throw IdentityError(
                .signUpRestricted, "This server creates no new accounts. Ask its administrator for one.")
        case .invite:
            guard let code = origin.invitation, !code.isEmpty else {
                throw IdentityError(
                    .signUpRestricted,
                    "A new account on this server needs an invitation. Ask its administrator for a code, and use --invite."
                )
            }
            let digest = OneTimeCode.digest(code)
            guard try await store.hasInvitation(digest, now: now) else {
                throw IdentityError(.invalidCode, "The invitation is unknown, used up or expired.")
            }
            invitation = digest
        }
        guard policy.counts(origin.address) else { return invitation }
        guard try await limits.take([RateLimits.Event(.signUp, origin.address.description)], now: now) else {
            throw IdentityError(
                .tooManyAttempts, "Too many accounts were made from this address; try again in a few minutes.")
        }
        return invitation
    }

    /// Creates a permanent account without signing in, for `ferry-server user add`.
    package func add(email: String, password: String, displayName: String? = nil, now: Int64) async throws -> Account {
        let email = try Self.normalized(email)
        try Self.check(password)
        if try await store.account(email: email) != nil { throw Self.emailExists }
        let hash = try await hash(password, for: NetworkAddress(peer: "local"))
        return try await store.create(email: email, password: hash, displayName: displayName, now: now)
    }

    /// Signs in. An unknown e-mail address and a wrong password cause the same error after about
    /// the same time.
    package func signIn(email: String, password: String, address: NetworkAddress, now: Int64) async throws -> Tokens {
        let email = try Self.normalized(email)
        let (delay, isKnown) = try await limits.withSignIns(to: email, from: address, now: now) {
            ($0.delay(account: email, address: address, now: now), $0.isKnown(account: email, address: address))
        }
        guard delay == 0 else {
            throw IdentityError(.tooManyAttempts, "Too many failed sign-ins; try again in \(delay) s.")
        }
        let found = try await store.account(email: email)
        let hash = found?.1 ?? decoy
        // A user who has signed in from this address before does not wait for a flood of attempts
        // from it.
        let turn = isKnown ? "\(address) \(email)" : address.description
        let matches = try await hasher.run(for: turn) { try hash.matches(password) }
        guard let (account, stored) = found, stored != nil, matches else {
            try await limits.withSignIns(to: email, from: address, now: now) {
                $0.fail(account: email, exists: found != nil, address: address, now: now)
            }
            throw IdentityError(.invalidCredentials, "The e-mail or the password is wrong.")
        }
        guard !account.isDisabled else { throw IdentityError.accountDisabled }
        try await limits.withSignIns(to: email, from: address, now: now) {
            $0.succeed(account: email, address: address, now: now)
        }
        return try await signedIn(account, .password, now: now)
    }

    /// Returns a new ID token. The refresh token stays valid.
    package func refresh(_ token: String, now: Int64) async throws -> Tokens {
        guard token.utf8.count <= 512, let session = try await store.session(token) else {
            throw IdentityError(.tokenExpired, "The session is over; sign in again.")
        }
        let (account, time) = (session.account, session.authenticatedAt)
        guard !account.isDisabled else { throw IdentityError.accountDisabled }
        guard time >= account.validSince else { throw IdentityError.sessionEnded }
        let idToken = try issuer.token(
            for: account, provider: session.provider, claims: session.claims, authenticatedAt: time, now: now)
        return Tokens(account: account, idToken: idToken, refreshToken: token)
    }

    // MARK: the signed-in user's own account

    /// Returns the account of a verified token. Throws if the account was deleted or disabled, or
    /// if the token was revoked.
    package func account(of token: VerifiedToken) async throws -> Account {
        guard let account = try await store.account(id: token.userID) else {
            throw IdentityError(.userNotFound, "The account does not exist any more; sign in again.")
        }
        try Self.check(token, for: account)
        return account
    }

    /// Throws if an account is disabled, or has revoked a token.
    static func check(_ token: VerifiedToken, for account: Account) throws {
        guard !account.isDisabled else { throw IdentityError.accountDisabled }
        guard token.issuedAt >= account.validSince else { throw IdentityError.sessionEnded }
    }

    /// Returns a new code for an account, which is mailed to its address, or to `newEmail`.
    ///
    /// - Parameter token: The ID token of the account that asks; nil for an administrator.
    func mailCode(
        _ kind: MailCodes.Kind, for account: Account, newEmail: String? = nil, token: VerifiedToken?, now: Int64
    ) async throws -> String {
        guard let email = account.email else { throw IdentityError.addressChanged }
        let entry = MailCodes.Entry(kind: kind, email: email, account: account.id, newEmail: newEmail)
        return try await store.withAccount(account.id) { current, database in
            if let token { try Self.check(token, for: current) }
            guard current.email == email else { throw IdentityError.addressChanged }
            return try MailCodes.add(entry, now: now, in: database)
        }
    }

    /// Returns the id of the account with an e-mail address; nil if there is none. For signed-in
    /// users.
    ///
    /// Look-ups of unknown addresses are counted for the account and for the network address, so
    /// that creating accounts does not help to try many addresses.
    package func userID(
        of email: String, for token: VerifiedToken, address: NetworkAddress, now: Int64
    ) async throws -> String? {
        let asker = try await account(of: token).id
        let email = try Self.normalized(email)
        let events = [
            RateLimits.Event(.lookup, asker), RateLimits.Event(.lookupOfAddress, address.description),
        ]
        guard try await limits.allow(events, now: now) else {
            throw IdentityError(.tooManyAttempts, "Too many unknown addresses; wait five minutes and try again.")
        }
        guard let (found, _) = try await store.account(email: email), !found.isDisabled else {
            _ = try await limits.take(events, now: now)
            return nil
        }
        return found.id
    }

    /// Counts a mail that a caller without an account asks for, for its address and the recipient's.
    func countMail(to recipient: String?, from address: NetworkAddress, now: Int64) async throws {
        let keys = [recipient.map { "to \($0)" }, "from \(address)"].compactMap { $0 }
        guard try await limits.take(keys.map { RateLimits.Event(.mail, $0) }, now: now) else {
            throw IdentityError(.tooManyAttempts, "Too many mails were asked for; try again in a few minutes.")
        }
    }

    package struct Changes: Sendable {
        package var email: String?
        package var password: String?
        /// The new name. An empty text removes it.
        package var displayName: String?
        package var photoURL: String?
        /// The sign-in methods to remove, by `providerId`. Methods that the account does not have
        /// are ignored.
        package var removedProviders: Set<String> = []

        package init(
            email: String? = nil, password: String? = nil, displayName: String? = nil, photoURL: String? = nil
        ) {
            self.email = email
            self.password = password
            self.displayName = displayName
            self.photoURL = photoURL
        }
    }

    /// Changes the account. A new e-mail address or password comes with new tokens.
    ///
    /// An e-mail address and a password together make an anonymous account a permanent one with the
    /// same id. Replacing a password ends all other sessions.
    package func update(
        _ token: VerifiedToken, _ changes: Changes, address: NetworkAddress, now: Int64
    ) async throws -> (account: Account, tokens: Tokens?) {
        let account = try await account(of: token)
        // Refuses before the password is hashed, which takes long.
        _ = try Self.change(of: account, changes, password: nil, token, now: now)
        var hash: PasswordHash?
        if let password = changes.password { hash = try await self.hash(password, for: address) }
        let changed = try await store.change(account.id) { [hash, clock] current, _ in
            try Self.check(token, for: current)
            // Hashing may have taken longer than a second, in which tokens were issued.
            return try Self.change(of: current, changes, password: hash, token, now: clock())
        }
        guard changes.email != nil || changes.password != nil else { return (changed, nil) }
        if changed.validSince > account.validSince { try await reload(now: now) }
        let provider: SignInProvider =
            changed.hasPassword ? .password : SignInProvider(rawValue: token.provider)
        return (changed, try await signedIn(changed, provider, now: now))
    }

    /// Decides what the changes that a user asks for change in the account.
    private static func change(
        of account: Account, _ changes: Changes, password hash: PasswordHash?, _ token: VerifiedToken, now: Int64
    ) throws -> AccountChange {
        var change = AccountChange(removedProviders: changes.removedProviders)
        if !change.removedProviders.isEmpty {
            let ways = account.links.map(\.provider) + (account.hasPassword ? ["password"] : [])
            guard ways.isEmpty || ways.contains(where: { !change.removedProviders.contains($0) }) else {
                throw IdentityError(
                    .notAllowed, "This is the account's last way to sign in, and cannot be removed.")
            }
            try checkFresh(token, now: now)
            if account.hasPassword, change.removedProviders.contains("password") {
                change.values += AccountStore.values(of: nil, now: now)
            }
        }
        if let email = try changes.email.map(normalized), email != account.email {
            change.values += [("email", .text(email)), ("email_verified", 0)]
        }
        if let password = changes.password {
            guard account.email != nil || changes.email != nil else {
                throw IdentityError(.invalidEmail, "A password needs an e-mail to sign in with.")
            }
            try check(password)
        } else if changes.email != nil, !account.hasPassword, account.links.isEmpty {
            // Without a password, the account could not be signed in to, and its address would be
            // unavailable to others.
            throw IdentityError(.weakPassword, "An e-mail needs a password to sign in with.")
        }
        if !account.isAnonymous, changes.email != nil || changes.password != nil {
            try checkFresh(token, now: now)
        }
        if let hash {
            change.values.removeAll { $0.column.hasPrefix("password") }
            change.values += AccountStore.values(of: hash, now: now)
            if account.hasPassword { change.endsSessionsAt = now }
        }
        if let name = changes.displayName {
            change.values.append(("display_name", name.isEmpty ? .null : .text(name)))
        }
        if let url = changes.photoURL { change.values.append(("photo_url", url.isEmpty ? .null : .text(url))) }
        return change
    }

    package func delete(_ token: VerifiedToken, now: Int64) async throws {
        let account = try await account(of: token)
        try await store.delete(account.id, now: now) { account in
            try Self.check(token, for: account)
            if account.hasPassword { try Self.checkFresh(token, now: now) }
        }
        try await reload(now: now)
    }

    /// Returns the account whose password a code may set. Throws `.invalidCode`.
    package func account(passwordCode code: String, now: Int64) async throws -> Account {
        guard let account = try await store.account(passwordCode: OneTimeCode.digest(code), now: now) else {
            throw IdentityError.invalidPasswordCode
        }
        return account
    }

    /// Sets the password of the account that a code is for, uses up the code, and ends all
    /// sessions. Returns the account.
    ///
    /// - Throws: `IdentityError` with `.invalidCode`, `.weakPassword` or `.userDisabled`.
    package func resetPassword(
        code: String, password: String, address: NetworkAddress, now: Int64
    ) async throws -> Account {
        let digest = OneTimeCode.digest(code)
        guard let account = try await store.account(passwordCode: digest, now: now) else {
            throw IdentityError.invalidPasswordCode
        }
        guard !account.isDisabled else { throw IdentityError.accountDisabled }
        try Self.check(password)
        let hash = try await hash(password, for: address)
        let changed = try await store.setPassword(of: account.id, hash, passwordCode: digest, clock: clock)
        try await reload(now: now)
        return changed
    }

    /// Reloads the revocations and quotas after another process has changed accounts.
    package func reload(now: Int64) async throws {
        revocations.replace(with: try await store.revocations(now: now))
        let overrides = try await store.quotaOverrides()
        quotas.withLock { $0 = overrides }
    }

    /// Returns the quotas that an administrator has set for an account.
    package func quotaOverride(of user: String) -> AccountQuota.Override {
        quotas.withLock { $0[user] } ?? AccountQuota.Override()
    }

    // MARK: parts

    /// Opens a session. The caller has proved who signs in.
    func signedIn(
        _ account: Account, _ provider: SignInProvider, claims: JSONObject = [:], now: Int64
    ) async throws -> Tokens {
        let refreshToken = try await store.openSession(account, provider, claims: claims, now: now)
        let idToken = try issuer.token(
            for: account, provider: provider, claims: claims, authenticatedAt: account.tokenTime(now: now), now: now)
        return Tokens(account: account, idToken: idToken, refreshToken: refreshToken)
    }

    func hash(_ password: String, for address: NetworkAddress) async throws -> PasswordHash {
        let cost = passwordCost
        return try await hasher.run(for: address.description) { try PasswordHash(password, cost: cost) }
    }

    static func check(_ password: String) throws {
        guard passwordLengths.contains(password.utf8.count) else {
            throw IdentityError(
                .weakPassword, "A password has at least \(passwordLengths.lowerBound) characters, and at most 1024.")
        }
    }

    static func checkFresh(_ token: VerifiedToken, now: Int64) throws {
        guard now - token.authenticatedAt <= freshness else {
            throw IdentityError(.loginTooOld, "This change needs a sign-in of the last 15 minutes; sign in again.")
        }
    }

    /// Returns the address in lower case, because most mail systems ignore case and users do not
    /// remember it.
    static func normalized(_ email: String) throws -> String {
        let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), email.utf8.count <= 256,
            email.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { throw IdentityError(.invalidEmail, "That is not an e-mail address.") }
        return email.lowercased()
    }

    private static let emailExists = IdentityError(
        .emailExists, "An account with this e-mail exists already. Sign in to it instead.")
}
