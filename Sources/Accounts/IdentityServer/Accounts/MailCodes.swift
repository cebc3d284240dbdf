import Cryptography

/// The codes that mails carry, stored. Only hashes are stored, and each code works once.
///
/// Codes that set a password are apart, because administrators give them out as well.
struct MailCodes: Sendable {
    enum Kind: String, Sendable {
        case verifyEmail = "VERIFY_EMAIL"
        case signIn = "EMAIL_SIGNIN"
        case changeEmail = "VERIFY_AND_CHANGE_EMAIL"
    }

    struct Entry: Sendable {
        let kind: Kind
        let email: String
        /// The account; nil for a sign-in with an address that has none yet.
        let account: String?
        let newEmail: String?
    }

    /// The seconds for which a code works.
    static let lifetime: Int64 = 3600

    let database: any AccountDatabase

    /// Returns a new code. Earlier codes of the address for the same purpose stop working.
    func add(_ entry: Entry, now: Int64) async throws -> String {
        try await database.transaction { try Self.add(entry, now: now, in: $0) }
    }

    static func add(_ entry: Entry, now: Int64, in database: any AccountTransaction) throws -> String {
        let code = OneTimeCode.make()
        try database.execute(
            "DELETE FROM mail_code WHERE expires_at<=? OR email=? AND kind=?",
            [.integer(now), .text(entry.email), .text(entry.kind.rawValue)])
        try database.execute(
            "INSERT INTO mail_code(code, kind, email, account, new_email, expires_at) VALUES(?,?,?,?,?,?)",
            [
                .blob(OneTimeCode.digest(code)), .text(entry.kind.rawValue), .text(entry.email),
                .optional(entry.account), .optional(entry.newEmail), .integer(now + lifetime),
            ])
        return code
    }

    /// Returns what a code is for; nil if it is unknown, used or expired.
    func entry(of code: String, now: Int64) async throws -> Entry? {
        try await database.read { try Self.entry(OneTimeCode.digest(code), now: now, in: $0) }
    }

    /// Uses up a code.
    ///
    /// - Throws: `ToolkitRefusal` if it is not for that purpose, or was used or expired meanwhile.
    @discardableResult
    func take(_ code: String, for kind: Kind, now: Int64) async throws -> Entry {
        try await database.transaction { try Self.take(code, for: kind, now: now, in: $0) }
    }

    @discardableResult
    static func take(
        _ code: String, for kind: Kind, now: Int64, in database: any AccountTransaction
    ) throws -> Entry {
        let digest = OneTimeCode.digest(code)
        guard let entry = try entry(digest, now: now, in: database), entry.kind == kind,
            try database.execute("DELETE FROM mail_code WHERE code=?", [.blob(digest)]) == 1
        else { throw invalid }
        return entry
    }

    static let invalid = ToolkitRefusal("INVALID_OOB_CODE")

    private static func entry(_ digest: [UInt8], now: Int64, in database: any AccountTransaction) throws -> Entry? {
        let found = try database.first(
            "SELECT kind, email, account, new_email FROM mail_code WHERE code=? AND expires_at>?",
            [.blob(digest), .integer(now)]
        ) { row in
            Kind(rawValue: row.text(0)).map {
                Entry(kind: $0, email: row.text(1), account: row.optionalText(2), newEmail: row.optionalText(3))
            }
        }
        return found ?? nil
    }
}
