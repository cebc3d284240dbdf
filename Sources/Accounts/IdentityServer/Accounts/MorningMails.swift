import Cryptography

/// The accounts that get a mail with their tasks in the morning, and which of the mails are sent.
///
/// A mail is claimed before it is sent. A claim is one statement that repeats its condition, so of
/// several servers one gets it, and a server that stops between claim and mail sends none that day
/// rather than two.
package struct MorningMails: Sendable {
    /// The time at which an account wants its mail.
    package struct Setting: Sendable, Hashable {
        /// The minute of the day.
        package var minute: Int
        /// The name of the time zone, such as `Europe/Berlin`.
        package var zone: String

        package init(minute: Int, zone: String) {
            self.minute = minute
            self.zone = zone
        }
    }

    /// A mail that is due.
    package struct Entry: Sendable, Hashable {
        package let account: String
        package let email: String
        package let setting: Setting
        /// The secret by which the mails are ended without a sign-in.
        package let token: String
        /// The time at which it became due, in seconds since 1970.
        package let time: Int64
        /// The last day with a mail, as days since 1970 in the account's time zone.
        package let sentDay: Int64
    }

    let database: any AccountDatabase

    /// Sets when an account gets its mail.
    ///
    /// - Parameter time: the time of the next mail, in seconds since 1970.
    func set(_ setting: Setting, of account: String, next time: Int64) async throws {
        let token = RandomBytes.token()
        try await database.transaction { database in
            try database.execute(
                """
                INSERT INTO morning_mail(account, minute, zone, token, next_at, sent_day) VALUES(?,?,?,?,?,?)
                ON CONFLICT(account) DO UPDATE SET minute=excluded.minute, zone=excluded.zone, next_at=excluded.next_at
                """,
                [
                    .text(account), .int(setting.minute), .text(setting.zone), .text(token), .integer(time),
                    .integer(.min),
                ])
        }
    }

    /// Ends the mails of an account.
    func remove(_ account: String) async throws {
        try await database.transaction { try Self.remove(account, in: $0) }
    }

    static func remove(_ account: String, in database: any AccountTransaction) throws {
        try database.execute("DELETE FROM morning_mail WHERE account=?", [.text(account)])
    }

    /// Ends the mails with a token. It is no error if they have ended.
    func remove(token: String) async throws {
        try await database.transaction { try $0.execute("DELETE FROM morning_mail WHERE token=?", [.text(token)]) }
    }

    /// Returns when an account gets its mail; nil if it gets none.
    func setting(of account: String) async throws -> Setting? {
        try await database.read { database in
            try database.first("SELECT minute, zone FROM morning_mail WHERE account=?", [.text(account)]) {
                Setting(minute: $0.int(0), zone: $0.text(1))
            }
        }
    }

    /// Returns mails that are due, those first that have been so for longest. Accounts without a
    /// confirmed address get none.
    package func due(now: Int64, limit: Int) async throws -> [Entry] {
        try await database.read { database in
            var entries: [Entry] = []
            let sql = """
                SELECT account, email, minute, zone, token, next_at, sent_day FROM morning_mail JOIN account ON id=account
                WHERE next_at<=? AND disabled=0 AND email_verified<>0 AND email IS NOT NULL ORDER BY next_at LIMIT ?
                """
            try database.query(sql, [.integer(now), .int(limit)]) { row in
                entries.append(
                    Entry(
                        account: row.text(0), email: row.text(1),
                        setting: Setting(minute: row.int(2), zone: row.text(3)), token: row.text(4),
                        time: row.int64(5), sentDay: row.int64(6)))
            }
            return entries
        }
    }

    /// Claims a mail. Returns whether the caller may send it: false if another server has claimed it,
    /// or its user has changed the setting.
    ///
    /// - Parameters:
    ///   - day: the day of the mail.
    ///   - next: the time of the mail after it.
    package func claim(_ entry: Entry, day: Int64, next: Int64) async throws -> Bool {
        try await database.transaction { database in
            try database.execute(
                "UPDATE morning_mail SET next_at=?, sent_day=? WHERE account=? AND next_at=? AND sent_day=? AND token=?",
                [
                    .integer(next), .integer(day), .text(entry.account), .integer(entry.time), .integer(entry.sentDay),
                    .text(entry.token),
                ]) == 1
        }
    }

    /// Returns a claimed mail that the mail server has certainly not accepted, so that it is due again
    /// at `time`.
    package func release(_ entry: Entry, day: Int64, next: Int64, dueAt time: Int64) async throws {
        try await database.transaction { database in
            try database.execute(
                "UPDATE morning_mail SET next_at=?, sent_day=? WHERE account=? AND next_at=? AND sent_day=? AND token=?",
                [
                    .integer(time), .integer(entry.sentDay), .text(entry.account), .integer(next), .integer(day),
                    .text(entry.token),
                ])
        }
    }
}
