import IdentityProtocol
package import PostgreSQL
import SystemIO

extension IdentityService {
    /// Copies everything of a directory, from accounts with their sessions to keys, into a database
    /// without accounts. Users need not sign in again.
    ///
    /// No server may run on the directory, because its later changes are not copied, and none on the
    /// database, because it would keep other keys.
    ///
    /// - Returns: The number of accounts.
    /// - Throws: `IdentityError` with `.notAllowed` if the database has accounts.
    package static func copy(directory: String, to server: PostgresConfiguration) async throws -> Int {
        let source = try SQLiteAccountDatabase(path: "\(directory)/accounts.sqlite")
        let keys = try SigningKeys(path: "\(directory)/signing-keys.pem").pem()
        let target: PostgresAccountDatabase
        do { target = try PostgresAccountDatabase(server, environment: .system) {} } catch {
            throw AccountsUnavailable(cause: error)
        }
        do {
            let tables = try await source.read { source in
                try Self.tables.map { name, columns in
                    var rows: [[StoredValue]] = []
                    try source.query("SELECT \(columns) FROM \(name)") { rows.append($0.values) }
                    return (name, columns, rows)
                }
            }
            try await target.transaction { target in
                guard try target.first("SELECT 1 FROM account LIMIT 1", [], { _ in true }) == nil else {
                    throw IdentityError(.notAllowed, "The database has accounts already.")
                }
                try target.execute("DELETE FROM secret", [])
                for (name, columns, rows) in tables {
                    let places = columns.split(separator: ",").map { _ in "?" }.joined(separator: ",")
                    for row in rows { try target.execute("INSERT INTO \(name)(\(columns)) VALUES(\(places))", row) }
                }
                try target.execute(
                    "INSERT INTO secret(name, value) VALUES(?,?)", [.text(SigningKeyStorage.secret), .blob(keys)])
                try target.notifyServers()
            }
            await source.close()
            await target.close()
            return tables.first { $0.0 == "account" }?.2.count ?? 0
        } catch {
            await source.close()
            await target.close()
            throw error
        }
    }

    /// The tables that both databases have, each after those to which it refers.
    private static let tables = [
        (
            "account",
            """
            id, email, display_name, photo_url, email_verified, password, password_cost, password_updated_at, \
            created_at, last_login_at, valid_since, disabled, quota_object_bytes, quota_documents, quota_requests, \
            custom_claims, managed
            """
        ),
        ("session", "token, account, provider, authenticated_at, claims"),
        ("deleted_account", "id, deleted_at"), ("removal", "account, requested_at"),
        ("secret", "name, value"), ("storage_key", "access_key, label, created_at"),
        ("invitation", "code, uses, created_at, expires_at"), ("password_code", "code, account, expires_at"),
        ("provider_link", "provider, subject, account, email, display_name, photo_url"),
        ("mail_code", "code, kind, email, account, new_email, expires_at"),
        ("service_account", "key_id, email, modulus, exponent, label, created_at"),
        ("morning_mail", "account, minute, zone, token, next_at, sent_day"),
    ]
}
