/// The tables of accounts in PostgreSQL. Except for `generation` and `rate_limit` they are those of
/// `SQLiteAccountDatabase`.
///
/// - `generation`: one row, with a number that grows when servers are to read again what they keep
///   in memory.
/// - `rate_limit`: the states of `RateLimits`.
///
/// Texts are ordered by their bytes, as in SQLite.
enum AccountSchema {
    static let name = "ferry_accounts"

    static let migrations: [[String]] = [
        [
            """
            CREATE TABLE ferry_accounts.account(
                id text COLLATE "C" PRIMARY KEY, email text COLLATE "C" UNIQUE, display_name text, photo_url text,
                email_verified bigint NOT NULL DEFAULT 0, password bytea, password_cost bigint,
                password_updated_at bigint, created_at bigint NOT NULL, last_login_at bigint NOT NULL,
                valid_since bigint NOT NULL DEFAULT 0, disabled bigint NOT NULL DEFAULT 0,
                quota_object_bytes bigint, quota_documents bigint, quota_requests bigint,
                custom_claims text, managed bigint NOT NULL DEFAULT 0)
            """,
            "CREATE INDEX account_disabled ON ferry_accounts.account(id) WHERE disabled<>0",
            "CREATE INDEX account_valid_since ON ferry_accounts.account(valid_since) WHERE disabled=0",
            """
            CREATE TABLE ferry_accounts.session(
                token bytea PRIMARY KEY,
                account text COLLATE "C" NOT NULL REFERENCES ferry_accounts.account(id) ON DELETE CASCADE,
                provider text NOT NULL, authenticated_at bigint NOT NULL, claims text)
            """,
            "CREATE INDEX session_account ON ferry_accounts.session(account, authenticated_at)",
            """
            CREATE TABLE ferry_accounts.deleted_account(id text COLLATE "C" PRIMARY KEY, deleted_at bigint NOT NULL)
            """,
            "CREATE TABLE ferry_accounts.secret(name text PRIMARY KEY, value bytea NOT NULL)",
            """
            CREATE TABLE ferry_accounts.storage_key(
                access_key text PRIMARY KEY, label text NOT NULL, created_at bigint NOT NULL)
            """,
            """
            CREATE TABLE ferry_accounts.invitation(
                code bytea PRIMARY KEY, uses bigint NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL)
            """,
            """
            CREATE TABLE ferry_accounts.password_code(
                code bytea PRIMARY KEY,
                account text COLLATE "C" NOT NULL REFERENCES ferry_accounts.account(id) ON DELETE CASCADE,
                expires_at bigint NOT NULL)
            """,
            "CREATE INDEX password_code_account ON ferry_accounts.password_code(account)",
            """
            CREATE TABLE ferry_accounts.removal(account text COLLATE "C" PRIMARY KEY, requested_at bigint NOT NULL)
            """,
            """
            CREATE TABLE ferry_accounts.provider_link(
                provider text NOT NULL, subject text NOT NULL,
                account text COLLATE "C" NOT NULL REFERENCES ferry_accounts.account(id) ON DELETE CASCADE,
                email text, display_name text, photo_url text, PRIMARY KEY(provider, subject))
            """,
            "CREATE UNIQUE INDEX provider_link_account ON ferry_accounts.provider_link(account, provider)",
            """
            CREATE TABLE ferry_accounts.mail_code(
                code bytea PRIMARY KEY, kind text NOT NULL, email text NOT NULL,
                account text COLLATE "C" REFERENCES ferry_accounts.account(id) ON DELETE CASCADE, new_email text,
                expires_at bigint NOT NULL)
            """,
            "CREATE INDEX mail_code_email ON ferry_accounts.mail_code(email, kind)",
            "CREATE INDEX mail_code_account ON ferry_accounts.mail_code(account)",
            """
            CREATE TABLE ferry_accounts.service_account(
                key_id text PRIMARY KEY, email text NOT NULL, modulus bytea NOT NULL, exponent bytea NOT NULL,
                label text NOT NULL, created_at bigint NOT NULL)
            """,
            "CREATE TABLE ferry_accounts.generation(value bigint NOT NULL)",
            "INSERT INTO ferry_accounts.generation VALUES(1)",
            """
            CREATE TABLE ferry_accounts.rate_limit(
                key text COLLATE "C" PRIMARY KEY, value text NOT NULL, expires_at bigint NOT NULL)
            """,
            "CREATE INDEX rate_limit_expires_at ON ferry_accounts.rate_limit(expires_at)",
        ],
        [
            """
            CREATE TABLE ferry_accounts.morning_mail(
                account text COLLATE "C" PRIMARY KEY REFERENCES ferry_accounts.account(id) ON DELETE CASCADE,
                minute bigint NOT NULL, zone text NOT NULL, token text COLLATE "C" NOT NULL UNIQUE,
                next_at bigint NOT NULL, sent_day bigint NOT NULL)
            """,
            "CREATE INDEX morning_mail_next_at ON ferry_accounts.morning_mail(next_at)",
        ],
    ]
}
