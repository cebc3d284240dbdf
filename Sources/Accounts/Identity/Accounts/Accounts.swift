import Cryptography
import SQLite
import Synchronization

/// The rules of signing up, signing in and changing an account.
///
/// Times are seconds since 1970 by the server's clock and are passed in. Passwords are hashed one at a time on a thread
/// of their own, so that a flood of sign-ins neither blocks other work nor takes memory.
package final class Accounts: Sendable {
    package struct Tokens: Sendable {
        package let account: Account
        package let idToken: String
        package let refreshToken: String
    }

    static let passwordLengths = 6...1024
    /// Changes that could lock the owner out need a sign-in of the last 15 minutes.
    static let freshness: Int64 = 900
    /// Sign-ins that may wait for their turn to be hashed.
    private static let queueLimit = 200

    let store: AccountStore
    let revocations = Revocations()
    private let issuer: TokenIssuer
    private let passwordCost: Int
    private let hasher = SerialThread()
    private let limiter = Mutex(AttemptLimiter())
    private let waiting = Atomic(0)
    /// Compared with where there is no account, so that the time does not tell.
    private let decoy: PasswordHash

    init(_ store: AccountStore, _ issuer: TokenIssuer, passwordCost: Int) throws {
        self.store = store
        self.issuer = issuer
        self.passwordCost = passwordCost
        decoy = PasswordHash(bytes: RandomBytes.make(PasswordHash.saltSize + 32), cost: passwordCost)
    }

    deinit { hasher.stop() }

    // MARK: signing up and in

    package func signUpAnonymously(now: Int64) async throws -> Tokens {
        let account = try await store.create(email: nil, password: nil, displayName: nil, now: now)
        return try await signedIn(account, .anonymous, now: now)
    }

    package func signUp(email: String, password: String, displayName: String? = nil, now: Int64) async throws -> Tokens
    {
        let account = try await add(email: email, password: password, displayName: displayName, now: now)
        return try await signedIn(account, .password, now: now)
    }

    /// A lasting account without signing in: `ferry-server user add`.
    package func add(email: String, password: String, displayName: String? = nil, now: Int64) async throws -> Account {
        let email = try Self.normalized(email)
        try Self.check(password)
        if try await store.account(email: email) != nil {
            throw IdentityError(.emailExists, "An account with this e-mail exists already. Sign in to it instead.")
        }
        let hash = try await hash(password)
        return try await store.create(email: email, password: hash, displayName: displayName, now: now)
    }

    /// One error, and about one time, for an unknown e-mail and for a wrong password.
    package func signIn(email: String, password: String, address: String, now: Int64) async throws -> Tokens {
        let email = try Self.normalized(email)
        guard limiter.withLock({ $0.allows(email: email, address: address, now: now) }) else {
            throw IdentityError(.tooManyAttempts, "Too many failed sign-ins; wait five minutes and try again.")
        }
        let found = try await store.account(email: email)
        let hash = found?.1 ?? decoy
        let matches = try await onHasher { try hash.matches(password) }
        guard let (account, stored) = found, stored != nil, matches else {
            limiter.withLock { $0.fail(email: email, address: address, now: now) }
            throw IdentityError(.invalidCredentials, "The e-mail or the password is wrong.")
        }
        guard !account.isDisabled else { throw Self.disabled }
        limiter.withLock { $0.succeed(email: email, address: address) }
        return try await signedIn(account, .password, now: now)
    }

    /// A fresh ID token; the refresh token stays good.
    package func refresh(_ token: String, now: Int64) async throws -> Tokens {
        guard token.utf8.count <= 512, let (account, provider, time) = try await store.session(token) else {
            throw IdentityError(.tokenExpired, "The session is over; sign in again.")
        }
        guard !account.isDisabled else { throw Self.disabled }
        guard time >= account.validSince else {
            throw IdentityError(.tokenExpired, "The session was ended by a change of password; sign in again.")
        }
        let idToken = try issuer.token(for: account, provider: provider, authenticatedAt: time, now: now)
        return Tokens(account: account, idToken: idToken, refreshToken: token)
    }

    // MARK: the signed-in user's own account

    /// The account of a verified token; throws where it is gone, disabled or newer than the token.
    package func account(of token: VerifiedToken) async throws -> Account {
        guard let account = try await store.account(id: token.userID) else {
            throw IdentityError(.userNotFound, "The account does not exist any more; sign in again.")
        }
        guard !account.isDisabled else { throw Self.disabled }
        guard token.issuedAt >= account.validSince else {
            throw IdentityError(.tokenExpired, "The session was ended by a change of password; sign in again.")
        }
        return account
    }

    /// The id of the account with an e-mail address; nil: there is none. For users who are signed in, who are stopped when they
    /// seem to try addresses.
    package func userID(of email: String, for token: VerifiedToken, now: Int64) async throws -> String? {
        let asker = "look-up by \(try await account(of: token).id)"
        let email = try Self.normalized(email)
        guard limiter.withLock({ $0.allows(email: asker, address: asker, now: now) }) else {
            throw IdentityError(.tooManyAttempts, "Too many unknown addresses; wait five minutes and try again.")
        }
        guard let (found, _) = try await store.account(email: email), !found.isDisabled else {
            limiter.withLock { $0.fail(email: asker, address: asker, now: now) }
            return nil
        }
        return found.id
    }

    package struct Changes: Sendable {
        package var email: String?
        package var password: String?
        /// An empty text removes the value.
        package var displayName: String?
        package var photoURL: String?

        package init(
            email: String? = nil, password: String? = nil, displayName: String? = nil, photoURL: String? = nil
        ) {
            self.email = email
            self.password = password
            self.displayName = displayName
            self.photoURL = photoURL
        }
    }

    /// Changes the account; new tokens come with a new e-mail or password. E-mail and password together make an
    /// anonymous account a lasting one, with the same id. A new password of an account that had one ends all other
    /// sessions.
    package func update(
        _ token: VerifiedToken, _ changes: Changes, now: Int64
    ) async throws -> (account: Account, tokens: Tokens?) {
        let account = try await account(of: token)
        var values: [(column: String, value: SQLiteValue)] = []
        if let email = changes.email {
            let email = try Self.normalized(email)
            if email != account.email {
                values += [("email", .text(email)), ("email_verified", 0)]
            }
        }
        if let password = changes.password {
            guard account.email != nil || changes.email != nil else {
                throw IdentityError(.invalidEmail, "A password needs an e-mail to sign in with.")
            }
            try Self.check(password)
        } else if changes.email != nil, !account.hasPassword {
            // Nobody could sign in to it, and nobody else could have the e-mail.
            throw IdentityError(.weakPassword, "An e-mail needs a password to sign in with.")
        }
        if account.hasPassword, changes.email != nil || changes.password != nil {
            try Self.checkFresh(token, now: now)
        }
        if let password = changes.password {
            let hash = try await hash(password)
            values += [
                ("password", .blob(hash.bytes)), ("password_cost", .int(hash.cost)),
                ("password_updated_at", .integer(now * 1000)),
            ]
            if account.hasPassword { values.append(("valid_since", .integer(now))) }
        }
        if let name = changes.displayName { values.append(("display_name", name.isEmpty ? .null : .text(name))) }
        if let url = changes.photoURL { values.append(("photo_url", url.isEmpty ? .null : .text(url))) }
        let changed = try await store.update(account.id, values)
        guard changes.email != nil || changes.password != nil else { return (changed, nil) }
        if changes.password != nil, account.hasPassword {
            try await store.closeSessions(of: account.id)
            try await reload(now: now)
        }
        let provider: SignInProvider = changed.hasPassword ? .password : .anonymous
        return (changed, try await signedIn(changed, provider, now: now))
    }

    package func delete(_ token: VerifiedToken, now: Int64) async throws {
        let account = try await account(of: token)
        if account.hasPassword { try Self.checkFresh(token, now: now) }
        try await store.delete(account.id, now: now)
        try await reload(now: now)
    }

    // MARK: administration

    package func list() async throws -> [Account] { try await store.accounts() }

    /// Ends the sessions of an account and keeps it from new ones, or allows it again. Throws `.userNotFound`.
    package func setDisabled(_ isDisabled: Bool, email: String, now: Int64) async throws -> Account {
        guard let (account, _) = try await store.account(email: try Self.normalized(email)) else {
            throw IdentityError(.userNotFound, "No account has the e-mail \(email).")
        }
        let changed = try await store.update(account.id, [("disabled", .bool(isDisabled))])
        try await reload(now: now)
        return changed
    }

    /// Learns which tokens count no more; after another process has changed accounts.
    package func reload(now: Int64) async throws {
        revocations.replace(with: try await store.revocations(now: now))
    }

    // MARK: parts

    private func signedIn(_ account: Account, _ provider: SignInProvider, now: Int64) async throws -> Tokens {
        let refreshToken = try await store.openSession(account, provider, now: now)
        let idToken = try issuer.token(for: account, provider: provider, authenticatedAt: now, now: now)
        return Tokens(account: account, idToken: idToken, refreshToken: refreshToken)
    }

    private func hash(_ password: String) async throws -> PasswordHash {
        let cost = passwordCost
        return try await onHasher { try PasswordHash(password, cost: cost) }
    }

    private func onHasher<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.queueLimit else {
            throw IdentityError(.tooManyAttempts, "Too many people sign in at once; try again in a moment.")
        }
        return try await hasher.run(body)
    }

    private static func check(_ password: String) throws {
        guard passwordLengths.contains(password.utf8.count) else {
            throw IdentityError(
                .weakPassword, "A password has at least \(passwordLengths.lowerBound) characters, and at most 1024.")
        }
    }

    private static func checkFresh(_ token: VerifiedToken, now: Int64) throws {
        guard now - token.authenticatedAt <= freshness else {
            throw IdentityError(.loginTooOld, "This change needs a sign-in of the last 15 minutes; sign in again.")
        }
    }

    /// Lower case, since most mail systems do not care and people do not remember.
    private static func normalized(_ email: String) throws -> String {
        let parts = email.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), email.utf8.count <= 256,
            email.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { throw IdentityError(.invalidEmail, "That is not an e-mail address.") }
        return email.lowercased()
    }

    static let disabled = IdentityError(.userDisabled, "The account is disabled; ask whoever runs the server.")
}
