import Cryptography
import IdentityProtocol
import JSON

/// The accounts in a database. The rules of sign-in are in `Accounts`.
///
/// Refresh tokens are stored as SHA-256 only. The table `secret` holds the key from which storage
/// secrets are derived.
struct AccountStore: Sendable {
    let database: any AccountDatabase

    /// The one-time codes of mails.
    var mailCodes: MailCodes { MailCodes(database: database) }
    /// The keys of administrators' programs.
    var serviceAccounts: ServiceAccounts { ServiceAccounts(database: database) }
    /// The accounts with a mail in the morning.
    var morningMails: MorningMails { MorningMails(database: database) }
    /// The accounts at OpenID providers.
    var links: ProviderLinks { ProviderLinks(database: database) }

    /// The maximum number of sessions of an account. A new session replaces the oldest one.
    private static let sessionLimit = 100

    init(_ database: any AccountDatabase) {
        self.database = database
        columns = Self.ownColumns + ", " + database.linksExpression
    }

    func close() async { await database.close() }

    /// Returns a number that grows when another server has changed what this one keeps in memory; 0
    /// if no other server uses the database.
    func generation() async throws -> Int64 {
        guard database.isShared else { return 0 }
        return try await database.read { try $0.first("SELECT value FROM generation") { $0.int64(0) } ?? 0 }
    }

    // MARK: accounts

    /// Creates an account and uses up an invitation for it, in one transaction.
    ///
    /// - Parameter invitation: The digest of the invitation's code; nil if none is needed.
    /// - Throws: `IdentityError` with `.emailExists` or `.invalidCode`.
    func create(
        id: String? = nil, email: String?, password: PasswordHash?, displayName: String?, invitation: [UInt8]? = nil,
        isEmailVerified: Bool = false, isManaged: Bool = false, link: ProviderLink? = nil, now: Int64
    ) async throws -> Account {
        let id = id ?? Self.newID()
        do {
            try await database.transaction { database in
                if let invitation {
                    let used = try database.execute(
                        "UPDATE invitation SET uses=uses-1 WHERE code=? AND uses>0 AND expires_at>?",
                        [.blob(invitation), .integer(now)])
                    guard used == 1 else { throw Self.invalidInvitation }
                }
                try database.execute(
                    """
                    INSERT INTO account(id, email, email_verified, display_name, password, password_cost,
                        password_updated_at, created_at, last_login_at, managed) VALUES(?,?,?,?,?,?,?,?,?,?)
                    """,
                    [
                        .text(id), .optional(email), .bool(isEmailVerified), .optional(displayName),
                        .optional(password?.bytes),
                        .optional(password.map { Int64($0.cost) }), .optional(password == nil ? nil : now * 1000),
                        .integer(now * 1000), .integer(now * 1000), .bool(isManaged),
                    ])
                if let link { try ProviderLinks.insert(link, for: id, in: database) }
            }
        } catch is ConstraintViolation {
            throw Self.emailExists
        }
        guard let account = try await account(id: id) else {
            throw IdentityError(.internalFailure, "A new account is not to be found.")
        }
        return account
    }

    func account(id: String) async throws -> Account? {
        try await database.read { database in
            try database.first("SELECT \(columns) FROM account WHERE id=?", [.text(id)], Self.account)
        }
    }

    func account(email: String) async throws -> (Account, PasswordHash?)? {
        try await database.read { database in
            try database.first(
                "SELECT \(columns), password, password_cost FROM account WHERE email=?", [.text(email)]
            ) { row in
                let hash = row.optionalBytes(Self.columnCount).map {
                    PasswordHash(bytes: $0, cost: row.int(Self.columnCount + 1))
                }
                return (Self.account(row), hash)
            }
        }
    }

    /// Returns accounts in the order of their ids, from the one after `id` on.
    func accounts(after id: String, limit: Int) async throws -> [Account] {
        try await database.read { database in
            var accounts: [Account] = []
            let sql = "SELECT \(columns) FROM account WHERE id>? ORDER BY id LIMIT ?"
            try database.query(sql, [.text(id), .int(limit)]) { accounts.append(Self.account($0)) }
            return accounts
        }
    }

    /// Returns all accounts, by e-mail address, anonymous ones last.
    func accounts() async throws -> [Account] {
        try await database.read { database in
            var accounts: [Account] = []
            let sql = "SELECT \(columns) FROM account ORDER BY email IS NULL, email, created_at"
            try database.query(sql) { accounts.append(Self.account($0)) }
            return accounts
        }
    }

    /// Sets the given columns, for an administrator. Throws `.emailExists` or `.userNotFound`.
    func update(_ id: String, _ values: [(column: String, value: StoredValue)]) async throws -> Account {
        let change = AccountChange(values: values, endsMailedCodes: true)
        return try await self.change(id) { _, _ in change }
    }

    /// Changes an account in one transaction.
    ///
    /// - Parameters:
    ///   - conflict: The error for an address or a provider's account that another account has.
    ///   - decide: Returns the change of the account that it gets, or throws to change nothing. It may
    ///     run more than once.
    func change(
        _ id: String, conflict: IdentityError = Self.emailExists,
        _ decide: @escaping @Sendable (Account, any AccountTransaction) throws -> AccountChange
    ) async throws -> Account {
        do {
            return try await withAccount(id) { account, database in
                try decide(account, database).apply(to: account, in: database)
                return try self.account(id, in: database)
            }
        } catch is ConstraintViolation {
            throw conflict
        }
    }

    /// Runs `body` in a transaction, with an account that no other transaction changes until its end.
    func withAccount<Result: Sendable>(
        _ id: String, _ body: @escaping @Sendable (Account, any AccountTransaction) throws -> Result
    ) async throws -> Result {
        try await database.transaction { database in
            // Locks the row in PostgreSQL, so that what another server has changed meanwhile is read.
            try database.execute("UPDATE account SET managed=managed WHERE id=?", [.text(id)])
            return try body(try account(id, in: database), database)
        }
    }

    private func account(_ id: String, in database: any AccountTransaction) throws -> Account {
        let account = try database.first("SELECT \(columns) FROM account WHERE id=?", [.text(id)], Self.account)
        guard let account else { throw IdentityError(.userNotFound, "The account does not exist any more.") }
        return account
    }

    /// Deletes an account.
    ///
    /// - Parameters:
    ///   - removesData: Whether the server should remove the account's documents and objects; see
    ///     `removals`.
    ///   - check: Throws if the account, as it is now, must stay.
    func delete(
        _ id: String, removesData: Bool = false, now: Int64,
        if check: @escaping @Sendable (Account) throws -> Void = { _ in }
    ) async throws {
        try await withAccount(id) { account, database in
            try check(account)
            if removesData {
                try database.execute(
                    "INSERT INTO removal VALUES(?,?) ON CONFLICT(account) DO UPDATE SET requested_at=excluded.requested_at",
                    [.text(id), .integer(now)])
            }
            try database.execute("DELETE FROM account WHERE id=?", [.text(id)])
            try database.execute(
                "INSERT INTO deleted_account VALUES(?,?) ON CONFLICT(id) DO UPDATE SET deleted_at=excluded.deleted_at",
                [.text(id), .integer(now)])
            try database.notifyServers()
        }
    }

    /// Returns the time before which an account's tokens are revoked, for each account that could
    /// have a revoked token, or a credential of the object store for it, that has not expired.
    func revocations(now: Int64) async throws -> [String: Int64] {
        try await database.transaction { database in
            var since: [String: Int64] = [:]
            let past = StoredValue.integer(
                now - max(TokenIssuer.lifetime, StorageCredentials.lifetimes.upperBound) - TokenVerifier.skew)
            try database.execute("DELETE FROM deleted_account WHERE deleted_at<?", [past])
            try database.query("SELECT id FROM account WHERE disabled<>0 UNION SELECT id FROM deleted_account") {
                since[$0.text(0)] = .max
            }
            try database.query("SELECT id, valid_since FROM account WHERE valid_since>=? AND disabled=0", [past]) {
                since[$0.text(0)] = $0.int64(1)
            }
            return since
        }
    }

    // MARK: sessions

    /// Opens a session, and returns its refresh token.
    ///
    /// - Parameters:
    ///   - account: The account at the time of the proof of who signs in.
    ///   - claims: The claims of the custom token that opens the session.
    /// - Throws: `IdentityError.sessionEnded` if all sessions were ended since that proof, which may have
    ///   been a password that the account no longer has.
    func openSession(
        _ account: Account, _ provider: SignInProvider, claims: JSONObject = [:], now: Int64
    ) async throws -> String {
        let token = RandomBytes.token()
        try await database.transaction { database in
            let changed = try database.execute(
                "UPDATE account SET last_login_at=? WHERE id=? AND valid_since=? AND disabled=0",
                [.integer(now * 1000), .text(account.id), .integer(account.validSince)])
            guard changed == 1 else { throw IdentityError.sessionEnded }
            try database.execute(
                "INSERT INTO session(token, account, provider, authenticated_at, claims) VALUES(?,?,?,?,?)",
                [
                    .blob(SHA256.hash(token).bytes), .text(account.id), .text(provider.rawValue),
                    .integer(account.tokenTime(now: now)),
                    claims.keys.isEmpty ? .null : .text(JSON.object(claims).text),
                ])
            try database.execute(
                """
                DELETE FROM session WHERE account=? AND token NOT IN (SELECT token FROM session WHERE account=?
                    ORDER BY authenticated_at DESC LIMIT \(Self.sessionLimit))
                """, [.text(account.id), .text(account.id)])
        }
        return token
    }

    /// Returns the session of a refresh token; nil if the token is unknown or revoked.
    func session(_ token: String) async throws -> Session? {
        try await database.read { database in
            try database.first(
                """
                SELECT \(columns), provider, authenticated_at, claims FROM session JOIN account ON id=account
                WHERE token=?
                """, [.blob(SHA256.hash(token).bytes)]
            ) { row in
                Session(
                    account: Self.account(row), provider: SignInProvider(rawValue: row.text(Self.columnCount)),
                    authenticatedAt: row.int64(Self.columnCount + 1),
                    claims: Self.object(row.optionalText(Self.columnCount + 2)))
            }
        }
    }

    struct Session: Sendable {
        let account: Account
        let provider: SignInProvider
        let authenticatedAt: Int64
        let claims: JSONObject
    }

    private static func object(_ text: String?) -> JSONObject {
        text.flatMap { try? JSON(parsing: $0, depth: 16) }?.objectValue ?? [:]
    }

    // MARK: codes

    func addInvitation(_ digest: [UInt8], uses: Int, expiresAt: Int64, now: Int64) async throws {
        try await database.transaction { database in
            try database.execute("DELETE FROM invitation WHERE uses<=0 OR expires_at<=?", [.integer(now)])
            try database.execute(
                "INSERT INTO invitation VALUES(?,?,?,?)",
                [.blob(digest), .int(uses), .integer(now), .integer(expiresAt)])
        }
    }

    /// Whether the invitation can still be used.
    func hasInvitation(_ digest: [UInt8], now: Int64) async throws -> Bool {
        try await database.read { database in
            try database.first(
                "SELECT 1 FROM invitation WHERE code=? AND uses>0 AND expires_at>?", [.blob(digest), .integer(now)]
            ) { _ in true } ?? false
        }
    }

    /// Adds a code that sets the account's password, and removes its earlier codes. Throws
    /// `.userNotFound` if the account has another address now than `account` has, to which the code is
    /// mailed.
    func addPasswordCode(_ digest: [UInt8], for account: Account, expiresAt: Int64) async throws {
        try await withAccount(account.id) { current, database in
            guard current.email == account.email else { throw IdentityError.addressChanged }
            try database.execute("DELETE FROM password_code WHERE account=?", [.text(account.id)])
            try database.execute(
                "INSERT INTO password_code VALUES(?,?,?)", [.blob(digest), .text(account.id), .integer(expiresAt)])
        }
    }

    /// Returns the account whose password a code may set; nil if the code is unknown, used or
    /// expired.
    func account(passwordCode digest: [UInt8], now: Int64) async throws -> Account? {
        try await database.read { database in
            try database.first(
                """
                SELECT \(columns) FROM password_code JOIN account ON account.id=password_code.account
                WHERE code=? AND expires_at>?
                """, [.blob(digest), .integer(now)], Self.account)
        }
    }

    /// Sets the password of an account, uses up the code that allows it, and ends all other codes and
    /// all sessions.
    ///
    /// If the address is not verified, a stranger may have signed up with it, and linked a provider.
    ///
    /// - Parameter clock: Returns the time at which the sessions end. Hashing may have taken longer than a
    ///   second, in which tokens were issued.
    /// - Throws: `IdentityError` with `.invalidCode` if the code was used or has expired, or with
    ///   `.userDisabled`.
    func setPassword(
        of id: String, _ hash: PasswordHash, passwordCode digest: [UInt8], clock: @escaping @Sendable () -> Int64
    ) async throws -> Account {
        try await change(id) { account, database in
            guard !account.isDisabled else { throw IdentityError.accountDisabled }
            let now = clock()
            let taken = try database.execute(
                "DELETE FROM password_code WHERE code=? AND account=? AND expires_at>?",
                [.blob(digest), .text(id), .integer(now)])
            guard taken == 1 else { throw IdentityError.invalidPasswordCode }
            return AccountChange(
                values: Self.values(of: hash, now: now),
                removedProviders: account.isEmailVerified ? [] : Set(account.links.map(\.provider)),
                endsSessionsAt: now, endsMailedCodes: true)
        }
    }

    /// Returns the columns of a password; nil removes it.
    static func values(of hash: PasswordHash?, now: Int64) -> [(column: String, value: StoredValue)] {
        [
            ("password", .optional(hash?.bytes)), ("password_cost", .optional(hash.map { Int64($0.cost) })),
            ("password_updated_at", .optional(hash == nil ? nil : now * 1000)),
        ]
    }

    // MARK: quotas

    /// Returns the accounts that have quotas of their own.
    func quotaOverrides() async throws -> [String: AccountQuota.Override] {
        try await database.read { database in
            var quotas: [String: AccountQuota.Override] = [:]
            try database.query(
                """
                SELECT id, quota_object_bytes, quota_documents, quota_requests FROM account
                WHERE coalesce(quota_object_bytes, quota_documents, quota_requests) IS NOT NULL
                """
            ) { row in
                quotas[row.text(0)] = AccountQuota.Override(
                    objectBytes: row.optionalInt64(1), documents: row.optionalInt64(2),
                    requestsPerSecond: row.optionalInt64(3))
            }
            return quotas
        }
    }

    // MARK: data of deleted accounts

    /// Returns the deleted accounts whose documents and objects have not been removed.
    func removals() async throws -> [String] {
        try await database.read { database in
            var accounts: [String] = []
            try database.query("SELECT account FROM removal ORDER BY requested_at") { accounts.append($0.text(0)) }
            return accounts
        }
    }

    func finishRemoval(of id: String) async throws {
        try await database.transaction { try $0.execute("DELETE FROM removal WHERE account=?", [.text(id)]) }
    }

    // MARK: storage

    /// Returns the random identifier of this set of accounts. A backup has the same one; a server
    /// with an empty directory has another.
    func lineage() async throws -> String {
        Hex.encode(try await secret("lineage") { RandomBytes.make(16) })
    }

    /// Returns the key from which storage secrets are derived. It is created at first use.
    func storageSecret() async throws -> [UInt8] { try await secret("storage") { RandomBytes.make(32) } }

    /// Returns a secret of all servers that use the database, which is created at first use.
    func secret(_ name: String, make: @Sendable () throws -> [UInt8]) async throws -> [UInt8] {
        let stored = try await database.read { try Self.secret(name, in: $0) }
        if let stored { return stored }
        let made = try make()
        return try await database.transaction { database in
            try database.execute(
                "INSERT INTO secret VALUES(?,?) ON CONFLICT(name) DO NOTHING", [.text(name), .blob(made)])
            return try Self.secret(name, in: database) ?? []
        }
    }

    /// Replaces a secret. Returns false if it is not `old` any more.
    func replaceSecret(_ name: String, _ old: [UInt8], with new: [UInt8]) async throws -> Bool {
        try await database.transaction { database in
            let changed = try database.execute(
                "UPDATE secret SET value=? WHERE name=? AND value=?", [.blob(new), .text(name), .blob(old)])
            try database.notifyServers()
            return changed == 1
        }
    }

    private static func secret(_ name: String, in database: any AccountTransaction) throws -> [UInt8]? {
        try database.first("SELECT value FROM secret WHERE name=?", [.text(name)]) { $0.bytes(0) }
    }

    func storageKeys() async throws -> [StorageKey] {
        try await database.read { database in
            var keys: [StorageKey] = []
            try database.query("SELECT access_key, label, created_at FROM storage_key ORDER BY created_at") {
                keys.append(StorageKey(accessKey: $0.text(0), label: $0.text(1), createdAt: $0.int64(2)))
            }
            return keys
        }
    }

    func add(_ key: StorageKey) async throws {
        try await database.transaction { database in
            try database.execute(
                "INSERT INTO storage_key VALUES(?,?,?)",
                [.text(key.accessKey), .text(key.label), .integer(key.createdAt)])
            try database.notifyServers()
        }
    }

    func removeStorageKey(_ accessKey: String) async throws -> Bool {
        try await database.transaction { database in
            try database.notifyServers()
            return try database.execute("DELETE FROM storage_key WHERE access_key=?", [.text(accessKey)]) > 0
        }
    }

    // MARK: rows

    /// The columns of an account, which `account` reads.
    private let columns: String
    private static let ownColumns = """
        id, email, display_name, photo_url, email_verified, password IS NOT NULL, password_updated_at, created_at, \
        last_login_at, valid_since, disabled, quota_object_bytes, quota_documents, quota_requests, custom_claims, managed
        """
    private static let columnCount = 17

    private static func account(_ row: StoredRow) -> Account {
        Account(
            id: row.text(0), email: row.optionalText(1), displayName: row.optionalText(2),
            photoURL: row.optionalText(3), isEmailVerified: row.bool(4), hasPassword: row.bool(5),
            isDisabled: row.bool(10), createdAt: row.int64(7), lastLoginAt: row.int64(8),
            passwordUpdatedAt: row.optionalInt64(6), validSince: row.int64(9),
            quota: AccountQuota.Override(
                objectBytes: row.optionalInt64(11), documents: row.optionalInt64(12),
                requestsPerSecond: row.optionalInt64(13)),
            customClaims: object(row.optionalText(14)), isManaged: row.bool(15), links: links(row.optionalText(16)))
    }

    private static func links(_ text: String?) -> [ProviderLink] {
        let rows = text.flatMap { try? JSON(parsing: $0, depth: 3) }?.arrayValue ?? []
        return rows.compactMap { row in
            guard let provider = row[0]?.stringValue, let subject = row[1]?.stringValue else { return nil }
            return ProviderLink(
                provider: provider, subject: subject, email: row[2]?.stringValue, displayName: row[3]?.stringValue,
                photoURL: row[4]?.stringValue)
        }
    }

    private static let invalidInvitation = IdentityError(
        .invalidCode, "The invitation is unknown, used up or expired. Ask the server's administrator for another.")

    static let emailExists = IdentityError(
        .emailExists, "An account with this e-mail exists already. Sign in to it, or take another e-mail.")

    /// Returns a new id in the form of Firebase's: 28 letters and digits, with 166 random bits.
    private static func newID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var id: [UInt8] = []
        while id.count < 28 {
            // 248 is the largest multiple of 62 in a byte, so all characters are equally likely.
            id += RandomBytes.make(40).filter { $0 < 248 }.map { alphabet[Int($0) % 62] }
        }
        return String(decoding: id.prefix(28), as: UTF8.self)
    }
}
