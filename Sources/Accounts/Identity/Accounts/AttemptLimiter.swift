/// Counts failed sign-ins and says when it is enough. Pure: time is given.
///
/// Most counts for an e-mail from one network address, so that nobody can keep a user out from elsewhere by failing in their
/// name; what many addresses do together, and what one does with many e-mails, is bounded too.
struct AttemptLimiter: Sendable {
    /// Seconds after which a failure is forgotten.
    static let window: Int64 = 300
    static let failuresPerPair = 10
    static let failuresPerEmail = 100
    static let failuresPerAddress = 100

    /// Keys remembered at a time, so that made-up e-mails cannot fill the memory.
    private static let keyLimit = 10_000

    private var failures: [String: [Int64]] = [:]

    func allows(email: String, address: String, now: Int64) -> Bool {
        count("p \(address) \(email)", now) < Self.failuresPerPair && count("e \(email)", now) < Self.failuresPerEmail
            && count("a \(address)", now) < Self.failuresPerAddress
    }

    mutating func fail(email: String, address: String, now: Int64) {
        if failures.count >= Self.keyLimit {
            failures = failures.filter { $0.value.contains { now - $0 < Self.window } }
            if failures.count >= Self.keyLimit { failures.removeAll() }
        }
        for key in ["p \(address) \(email)", "e \(email)", "a \(address)"] {
            failures[key] = (failures[key] ?? []).filter { now - $0 < Self.window } + [now]
        }
    }

    mutating func succeed(email: String, address: String) { failures["p \(address) \(email)"] = nil }

    private func count(_ key: String, _ now: Int64) -> Int {
        failures[key]?.count { now - $0 < Self.window } ?? 0
    }
}
