import Cryptography
import IdentityProtocol
import JSON
import SQLite
import SystemIO

/// The accounts on disk: an SQLite file of mode 0600, on a thread of its own. The rules of sign-in
/// are in `Accounts`.
///
/// Refresh tokens are stored as SHA-256 only. The table `secret` holds the key from which storage
/// secrets are derived.
final class AccountStore: Sendable {
    private let database: SQLiteActor

    /// The one-time codes of mails.
    var mailCodes: MailCodes { MailCodes(database: database) }
    /// The keys of administrators' programs.
    var serviceAccounts: ServiceAccounts { ServiceAccounts(database: database) }
    /// The accounts at OpenID providers.
    var links: ProviderLinks { ProviderLinks(database: database) }

    /// The maximum number of sessions of an account. A new session replaces the oldest one.
    private static let sessionLimit = 100

    init(path: String) throws {
        // SQLite creates its other files with the mode of this one.
        _ = try FileDescriptor(path: path, [.readWrite, .create], mode: 0o600)
        database = try SQLiteActor(path: path) { try $0.migrate("identity", Self.migrations) }
    }

    func close() async { await database.close() }

    private static let migrations = [
        SQLiteMigration(
            "accounts",
            sql: """
                CREATE TABLE account(
                    id TEXT PRIMARY KEY, email TEXT UNIQUE, display_name TEXT, photo_url TEXT,
                    email_verified INTEGER NOT NULL DEFAULT 0, password BLOB, password_cost INTEGER,
                    password_updated_at INTEGER, created_at INTEGER NOT NULL, last_login_at INTEGER NOT NULL,
                    valid_since INTEGER NOT NULL DEFAULT 0, disabled INTEGER NOT NULL DEFAULT 0
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE session(
                    token BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES account(id) ON DELETE CASCADE,
                    provider TEXT NOT NULL, authenticated_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX session_account ON session(account, authenticated_at);
                CREATE TABLE deleted_account(id TEXT PRIMARY KEY, deleted_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                CREATE TABLE secret(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
                CREATE TABLE storage_key(
                    access_key TEXT PRIMARY KEY, label TEXT NOT NULL, created_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "invitations, codes that set a password, quotas, data of deleted accounts",
            sql: """
                CREATE TABLE invitation(
                    code BLOB PRIMARY KEY, uses INTEGER NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE password_code(
                    code BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES account(id) ON DELETE CASCADE,
                    expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX password_code_account ON password_code(account);
                ALTER TABLE account ADD COLUMN quota_object_bytes INTEGER;
                ALTER TABLE account ADD COLUMN quota_documents INTEGER;
                ALTER TABLE account ADD COLUMN quota_requests INTEGER;
                CREATE TABLE removal(account TEXT PRIMARY KEY, requested_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration(
            "OpenID providers, custom claims, codes of mails, service accounts",
            sql: """
                CREATE TABLE provider_link(
                    provider TEXT NOT NULL, subject TEXT NOT NULL,
                    account TEXT NOT NULL REFERENCES account(id) ON DELETE CASCADE,
                    email TEXT, display_name TEXT, photo_url TEXT, PRIMARY KEY(provider, subject)
                ) STRICT, WITHOUT ROWID;
                CREATE UNIQUE INDEX provider_link_account ON provider_link(account, provider);
                CREATE TABLE mail_code(
                    code BLOB PRIMARY KEY, kind TEXT NOT NULL, email TEXT NOT NULL,
                    account TEXT REFERENCES account(id) ON DELETE CASCADE, new_email TEXT, expires_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX mail_code_email ON mail_code(email, kind);
                CREATE INDEX mail_code_account ON mail_code(account);
                CREATE TABLE service_account(
                    key_id TEXT PRIMARY KEY, email TEXT NOT NULL, modulus BLOB NOT NULL, exponent BLOB NOT NULL,
                    label TEXT NOT NULL, created_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                ALTER TABLE account ADD COLUMN custom_claims TEXT;
                ALTER TABLE account ADD COLUMN managed INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE session ADD COLUMN claims TEXT;
                """),
    ]

    // MARK: accounts

    /// Creates an account and uses up an invitation for it, in one transaction.
    ///
    /// - Parameter invitation: The digest of the invitation's code; nil if none is needed.
    /// - Throws: `IdentityError` with `.emailExists` or `.invalidCode`.
    func create(
        id: String? = nil, email: String?, password: PasswordHash?, displayName: String?, invitation: [UInt8]? = nil,
        isManaged: Bool = false, link: ProviderLink? = nil, now: Int64
    ) async throws -> Account {
        let id = id ?? Self.newID()
        do {
            try await database.transaction { database in
                if let invitation {
                    try database.execute(
                        "UPDATE invitation SET uses=uses-1 WHERE code=? AND uses>0 AND expires_at>?",
                        [.blob(invitation), .integer(now)])
                    guard database.changedRowCount == 1 else { throw Self.invalidInvitation }
                }
                try database.execute(
                    """
                    INSERT INTO account(id, email, display_name, password, password_cost, password_updated_at,
                        created_at, last_login_at, managed) VALUES(?,?,?,?,?,?,?,?,?)
                    """,
                    [
                        .text(id), .optional(email), .optional(displayName), .optional(password?.bytes),
                        .optional(password.map { Int64($0.cost) }), .optional(password == nil ? nil : now * 1000),
                        .integer(now * 1000), .integer(now * 1000), .bool(isManaged),
                    ])
                if let link { try ProviderLinks.insert(link, for: id, in: database) }
            }
        } catch let error as SQLiteError where error.code == .constraint {
            throw Self.emailExists
        }
        guard let account = try await account(id: id) else {
            throw IdentityError(.internalFailure, "A new account is not to be found.")
        }
        return account
    }

    func account(id: String) async throws -> Account? {
        try await database.run { database in
            try database.first("SELECT \(Self.columns) FROM account WHERE id=?", [.text(id)], Self.account)
        }
    }

    func account(email: String) async throws -> (Account, PasswordHash?)? {
        try await database.run { database in
            try database.first(
                "SELECT \(Self.columns), password, password_cost FROM account WHERE email=?", [.text(email)]
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
        try await database.run { database in
            var accounts: [Account] = []
            let sql = "SELECT \(Self.columns) FROM account WHERE id>? ORDER BY id LIMIT ?"
            try database.query(sql, [.text(id), .int(limit)]) { accounts.append(Self.account($0)) }
            return accounts
        }
    }

    /// Returns all accounts, by e-mail address, anonymous ones last.
    func accounts() async throws -> [Account] {
        try await database.run { database in
            var accounts: [Account] = []
            let sql = "SELECT \(Self.columns) FROM account ORDER BY email IS NULL, email, created_at"
            try database.query(sql) { accounts.append(Self.account($0)) }
            return accounts
        }
    }

    /// Sets the given columns. Throws `.emailExists` or `.userNotFound`.
    func update(_ id: String, _ values: [(column: String, value: SQLiteValue)]) async throws -> Account {
        let account = try await store(id, values)
        guard let account else { throw IdentityError(.userNotFound, "The account does not exist any more.") }
        return account
    }

    private func store(_ id: String, _ values: [(column: String, value: SQLiteValue)]) async throws -> Account? {
        let assignments = values.map { "\($0.column)=?" }.joined(separator: ", ")
        let bound = values.map(\.value) + [.text(id)]
        do {
            return try await database.transaction { database in
                if !assignments.isEmpty {
                    try database.execute("UPDATE account SET \(assignments) WHERE id=?", bound)
                }
                return try database.first(
                    "SELECT \(Self.columns) FROM account WHERE id=?", [.text(id)], Self.account)
            }
        } catch let error as SQLiteError where error.code == .constraint {
            throw Self.emailExists
        }
    }

    /// Deletes an account.
    ///
    /// - Parameter removesData: Whether the server should remove the account's documents and
    ///   objects; see `removals`.
    func delete(_ id: String, removesData: Bool = false, now: Int64) async throws {
        try await database.transaction { database in
            if removesData {
                try database.execute("INSERT OR REPLACE INTO removal VALUES(?,?)", [.text(id), .integer(now)])
            }
            try database.execute("DELETE FROM account WHERE id=?", [.text(id)])
            try database.execute(
                "INSERT OR REPLACE INTO deleted_account VALUES(?,?)", [.text(id), .integer(now)])
        }
    }

    /// Returns the time before which an account's tokens are revoked, for each account that could
    /// have a revoked token that has not expired.
    func revocations(now: Int64) async throws -> [String: Int64] {
        try await database.run { database in
            var since: [String: Int64] = [:]
            let past = SQLiteValue.integer(now - TokenIssuer.lifetime - TokenVerifier.skew)
            try database.execute("DELETE FROM deleted_account WHERE deleted_at<?", [past])
            try database.query("SELECT id FROM account WHERE disabled UNION SELECT id FROM deleted_account") {
                since[$0.text(0)] = .max
            }
            try database.query("SELECT id, valid_since FROM account WHERE valid_since>=? AND NOT disabled", [past]) {
                since[$0.text(0)] = $0.int64(1)
            }
            return since
        }
    }

    // MARK: sessions

    /// Opens a session, and returns its refresh token.
    ///
    /// - Parameter claims: The claims of the custom token that opens the session.
    func openSession(
        _ account: Account, _ provider: SignInProvider, claims: JSONObject = [:], now: Int64
    ) async throws -> String {
        let token = RandomBytes.token()
        try await database.transaction { database in
            try database.execute(
                "UPDATE account SET last_login_at=? WHERE id=?", [.integer(now * 1000), .text(account.id)])
            try database.execute(
                "INSERT INTO session(token, account, provider, authenticated_at, claims) VALUES(?,?,?,?,?)",
                [
                    .blob(SHA256.hash(token).bytes), .text(account.id), .text(provider.rawValue), .integer(now),
                    claims.keys.isEmpty ? .null : .text(JSON.object(claims).text),
                ])
            try database.execute(
                """
                DELETE FROM session WHERE account=?1 AND token IN (SELECT token FROM session WHERE account=?1
                    ORDER BY authenticated_at DESC LIMIT -1 OFFSET \(Self.sessionLimit))
                """, [.text(account.id)])
        }
        return token
    }

    /// Returns the session of a refresh token; nil if the token is unknown or revoked.
    func session(_ token: String) async throws -> Session? {
        try await database.run { database in
            try database.first(
                """
                SELECT \(Self.columns), provider, authenticated_at, claims FROM session JOIN account ON id=account
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

    /// Ends all sessions of an account.
    func closeSessions(of id: String) async throws {
        try await database.run { try $0.execute("DELETE FROM session WHERE account=?", [.text(id)]) }
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
        try await database.run { database in
            try database.first(
                "SELECT 1 FROM invitation WHERE code=? AND uses>0 AND expires_at>?", [.blob(digest), .integer(now)]
            ) { _ in true } ?? false
        }
    }

    /// Adds a code that sets the account's password, and removes its earlier codes.
    func addPasswordCode(_ digest: [UInt8], for id: String, expiresAt: Int64) async throws {
        try await database.transaction { database in
            try database.execute("DELETE FROM password_code WHERE account=?", [.text(id)])
            try database.execute(
                "INSERT INTO password_code VALUES(?,?,?)", [.blob(digest), .text(id), .integer(expiresAt)])
        }
    }

    /// Returns the account whose password a code may set; nil if the code is unknown, used or
    /// expired.
    func account(passwordCode digest: [UInt8], now: Int64) async throws -> Account? {
        try await database.run { database in
            try database.first(
                """
                SELECT \(Self.columns) FROM password_code JOIN account ON account.id=password_code.account
                WHERE code=? AND expires_at>?
                """, [.blob(digest), .integer(now)], Self.account)
        }
    }

    /// Sets the password of the code's account, uses up the code, and ends all sessions. Returns
    /// false if the code was used or expired meanwhile.
    func setPassword(_ hash: PasswordHash, passwordCode digest: [UInt8], now: Int64) async throws -> Bool {
        try await database.transaction { database in
            let account = try database.first(
                "SELECT account FROM password_code WHERE code=? AND expires_at>?", [.blob(digest), .integer(now)]
            ) { $0.text(0) }
            guard let account else { return false }
            try database.execute("DELETE FROM password_code WHERE account=?", [.text(account)])
            try database.execute("DELETE FROM session WHERE account=?", [.text(account)])
            try database.execute(
                "UPDATE account SET password=?, password_cost=?, password_updated_at=?, valid_since=? WHERE id=?",
                [.blob(hash.bytes), .int(hash.cost), .integer(now * 1000), .integer(now), .text(account)])
            return true
        }
    }

    // MARK: quotas

    /// Returns the accounts that have quotas of their own.
    func quotaOverrides() async throws -> [String: AccountQuota.Override] {
        try await database.run { database in
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
        try await database.run { database in
            var accounts: [String] = []
            try database.query("SELECT account FROM removal ORDER BY requested_at") { accounts.append($0.text(0)) }
            return accounts
        }
    }

    func finishRemoval(of id: String) async throws {
        try await database.run { try $0.execute("DELETE FROM removal WHERE account=?", [.text(id)]) }
    }

    // MARK: storage

    /// Returns the random identifier of this set of accounts. A backup has the same one; a server
    /// with an empty directory has another.
    func lineage() async throws -> String {
        try await database.transaction { database in
            try database.execute("INSERT OR IGNORE INTO secret VALUES('lineage',?)", [.blob(RandomBytes.make(16))])
            let bytes = try database.first("SELECT value FROM secret WHERE name='lineage'") { $0.bytes(0) }
            return Hex.encode(bytes ?? [])
        }
    }

    /// Returns the key from which storage secrets are derived. It is created at first use.
    func storageSecret() async throws -> [UInt8] {
        try await database.transaction { database in
            try database.execute("INSERT OR IGNORE INTO secret VALUES('storage',?)", [.blob(RandomBytes.make(32))])
            return try database.first("SELECT value FROM secret WHERE name='storage'") { $0.bytes(0) } ?? []
        }
    }

    func storageKeys() async throws -> [StorageKey] {
        try await database.run { database in
            var keys: [StorageKey] = []
            try database.query("SELECT access_key, label, created_at FROM storage_key ORDER BY created_at") {
                keys.append(StorageKey(accessKey: $0.text(0), label: $0.text(1), createdAt: $0.int64(2)))
            }
            return keys
        }
    }

    func add(_ key: StorageKey) async throws {
        try await database.run { database in
            try database.execute(
                "INSERT INTO storage_key VALUES(?,?,?)",
                [.text(key.accessKey), .text(key.label), .integer(key.createdAt)])
        }
    }

    func removeStorageKey(_ accessKey: String) async throws -> Bool {
        try await database.run { database in
            try database.execute("DELETE FROM storage_key WHERE access_key=?", [.text(accessKey)])
            return database.changedRowCount > 0
        }
    }

    // MARK: rows

    private static let columns = """
        id, email, display_name, photo_url, email_verified, password IS NOT NULL, password_updated_at, created_at, \
        last_login_at, valid_since, disabled, quota_object_bytes, quota_documents, quota_requests, custom_claims, managed, \
        (SELECT json_group_array(json_array(l.provider, l.subject, l.email, l.display_name, l.photo_url)) \
        FROM provider_link l WHERE l.account=account.id)
        """
    private static let columnCount: Int32 = 17

    private static func account(_ row: SQLiteStatement) -> Account {
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

    private static let emailExists = IdentityError(
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
