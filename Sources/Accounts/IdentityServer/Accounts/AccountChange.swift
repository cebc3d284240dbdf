/// A change of an account, which `AccountStore.change` makes in one transaction.
///
/// A change of the address, of a way to sign in, or of whether the account is disabled also ends
/// one-time codes. Otherwise a stranger who has signed up with the address of another user could keep
/// a code that changes the address, and use it once that user has taken over the account.
struct AccountChange: Sendable {
    var values: [(column: String, value: StoredValue)] = []
    /// The providers whose accounts no longer sign in.
    var removedProviders: Set<String> = []
    /// The account at a provider that is linked.
    var link: ProviderLink?
    /// The time at which all sessions end and all tokens are revoked, in seconds since 1970; nil to
    /// keep them.
    var endsSessionsAt: Int64?
    /// Whether codes that were mailed to an address that is not verified may end too.
    ///
    /// False for changes that an ID token allows: a stranger who has signed up with the address of
    /// another user could end the codes by which that user takes over the account.
    var endsMailedCodes = false

    private static let credentials: Set<String> = ["email", "password", "disabled"]

    private var endsCodes: Bool {
        endsSessionsAt != nil || !removedProviders.isEmpty || values.contains { Self.credentials.contains($0.column) }
    }

    /// Makes the change.
    ///
    /// - Parameter account: The account before it, whose row the transaction has locked.
    func apply(to account: Account, in database: any AccountTransaction) throws {
        let id = StoredValue.text(account.id)
        if endsCodes { try endCodes(of: account, in: database) }
        if !values.isEmpty {
            let assignments = values.map { "\($0.column)=?" }.joined(separator: ", ")
            try database.execute("UPDATE account SET \(assignments) WHERE id=?", values.map(\.value) + [id])
        }
        for provider in removedProviders {
            try database.execute("DELETE FROM provider_link WHERE account=? AND provider=?", [id, .text(provider)])
        }
        if let link { try ProviderLinks.insert(link, for: account.id, in: database) }
        if let now = endsSessionsAt {
            try database.execute("DELETE FROM session WHERE account=?", [id])
            // Later than every token so far, also those of this second: see `Account.tokenTime`.
            try database.execute(
                "UPDATE account SET valid_since=CASE WHEN valid_since>? THEN valid_since+1 ELSE ? END WHERE id=?",
                [.integer(now), .integer(now + 1), id])
        }
        if !values.isEmpty || endsSessionsAt != nil { try database.notifyServers() }
    }

    private func endCodes(of account: Account, in database: any AccountTransaction) throws {
        let id = StoredValue.text(account.id)
        try database.execute(
            "DELETE FROM mail_code WHERE account=? AND kind<>?", [id, .text(MailCodes.Kind.signIn.rawValue)])
        let endsMailed = endsMailedCodes || account.isEmailVerified
        if endsMailed || values.contains(where: { $0.column == "email" }) {
            try database.execute("DELETE FROM password_code WHERE account=?", [id])
        }
        // Codes to sign in with belong to an address, which may have had no account yet.
        if endsMailed, let email = account.email {
            try database.execute("DELETE FROM mail_code WHERE email=?", [.text(email)])
        }
    }
}

extension Account {
    /// The time at which a token is issued: now, or slightly later if earlier tokens were revoked in
    /// this second. Verifiers accept it then, within `TokenVerifier.skew`.
    func tokenTime(now: Int64) -> Int64 { max(now, min(validSince, now + TokenVerifier.skew)) }

    /// Whether an account at a provider signs in to this one.
    func isLinked(to link: ProviderLink) -> Bool {
        links.contains { $0.provider == link.provider && $0.subject == link.subject }
    }
}
