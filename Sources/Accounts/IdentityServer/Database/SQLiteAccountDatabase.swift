import SQLite
import SystemIO

/// The accounts in an SQLite file of mode 0600, on a thread of its own.
struct SQLiteAccountDatabase: AccountDatabase {
    private let database: SQLiteActor

    init(path: String) throws {
        // SQLite creates its other files with the mode of this one.
        _ = try FileDescriptor(path: path, [.readWrite, .create], mode: 0o600)
        database = try SQLiteActor(path: path) { try $0.migrate("identity", Self.migrations) }
    }

    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result {
        do {
            return try await database.transaction { try body(Transaction(database: $0)) }
        } catch let error as SQLiteError where error.code == .constraint {
            throw ConstraintViolation(cause: error)
        }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result {
        try await database.run { try body(Transaction(database: $0)) }
    }

    var linksExpression: String {
        """
        (SELECT json_group_array(json_array(l.provider, l.subject, l.email, l.display_name, l.photo_url)) \
        FROM provider_link l WHERE l.account=account.id)
        """
    }

    var isShared: Bool { false }

    func close() async { await database.close() }

    private struct Transaction: AccountTransaction {
        let database: SQLiteDatabase

        func execute(_ sql: String, _ values: [StoredValue]) throws -> Int {
            try database.execute(sql, values.map(\.sqlite))
            return Int(database.changedRowCount)
        }

        func query(_ sql: String, _ values: [StoredValue], _ body: (StoredRow) throws -> Void) throws {
            try database.query(sql, values.map(\.sqlite)) { statement in
                try body(StoredRow(values: (0..<statement.columnCount).map { StoredValue(statement.value($0)) }))
            }
        }

        /// Other processes are notified with SIGHUP.
        func notifyServers() {}
    }

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
        SQLiteMigration(
            "mails in the morning",
            sql: """
                CREATE TABLE morning_mail(
                    account TEXT PRIMARY KEY REFERENCES account(id) ON DELETE CASCADE, minute INTEGER NOT NULL,
                    zone TEXT NOT NULL, token TEXT NOT NULL UNIQUE, next_at INTEGER NOT NULL, sent_day INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX morning_mail_next_at ON morning_mail(next_at);
                """),
    ]
}

extension StoredValue {
    fileprivate init(_ value: SQLiteValue) {
        self =
            switch value {
            // No column has real numbers.
            case .null, .real: .null
            case .integer(let number): .integer(number)
            case .text(let text): .text(text)
            case .blob(let bytes): .blob(bytes)
            }
    }

    fileprivate var sqlite: SQLiteValue {
        switch self {
        case .null: .null
        case .integer(let number): .integer(number)
        case .text(let text): .text(text)
        case .blob(let bytes): .blob(bytes)
        }
    }
}
