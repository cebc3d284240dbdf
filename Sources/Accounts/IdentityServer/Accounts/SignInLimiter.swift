/// Decides when a sign-in may be attempted. Pure: time is passed in, in seconds.
///
/// Failures count for the pair of account and network address. An account's owner can therefore
/// sign in from elsewhere however often others fail with the account's name, and others behind the
/// same address can sign in to their accounts. After `freeFailures` failures the pair must wait 1,
/// 2, 4 … seconds, at most `longestDelay`, before the next attempt.
///
/// An address that fails for many accounts is trying common passwords on all of them. Above
/// `accountsPerAddress` within `memory` it may sign in only to accounts that it has signed in to
/// before.
struct SignInLimiter: Sendable {
    static let freeFailures = 5
    static let longestDelay: Int64 = 900
    /// The number of seconds after which failures are forgotten.
    static let memory: Int64 = 3600
    static let accountsPerAddress = 100
    /// The maximum number of pairs and addresses in memory. Above it the oldest half is forgotten.
    static let keyLimit = 20_000

    private struct Pair: Hashable {
        let account: String
        let address: NetworkAddress
    }

    private struct Failures {
        var count = 0
        var last: Int64
    }

    private var failures: [Pair: Failures] = [:]
    private var accounts: [NetworkAddress: [String: Int64]] = [:]
    /// The pairs that have signed in, with the time.
    private var known: [Pair: Int64] = [:]

    /// Returns the number of seconds until an attempt is allowed; 0 for now.
    func delay(account: String, address: NetworkAddress, now: Int64) -> Int64 {
        let pair = Pair(account: account, address: address)
        if let failures = failures[pair], failures.count >= Self.freeFailures, isPast(failures.last, now) {
            let exponent = min(failures.count - Self.freeFailures, 20)
            let wait = failures.last + min(Self.longestDelay, 1 << exponent) - now
            if wait > 0 { return wait }
        }
        guard known[pair] == nil, failures[pair] == nil, let failed = accounts[address],
            failed.count >= Self.accountsPerAddress
        else { return 0 }
        let recent = failed.values.filter { now - $0 < Self.memory && isPast($0, now) }
        guard recent.count >= Self.accountsPerAddress, let oldest = recent.min() else { return 0 }
        return max(1, oldest + Self.memory - now)
    }

    /// Whether a recorded time is in the past. If the clock was set back, recorded times may be in
    /// the future; they are ignored, so that users need not wait for them.
    private func isPast(_ time: Int64, _ now: Int64) -> Bool { time <= now + 60 }

    /// Counts a failed attempt.
    ///
    /// - Parameter exists: Whether the account exists. A made-up account is not endangered, and
    ///   must not use up the allowance of others behind the address.
    mutating func fail(account: String, exists: Bool, address: NetworkAddress, now: Int64) {
        let pair = Pair(account: account, address: address)
        var entry = failures[pair] ?? Failures(last: now)
        if now - entry.last >= Self.memory { entry.count = 0 }
        (entry.count, entry.last) = (entry.count + 1, now)
        failures[pair] = entry
        if exists {
            var failed = accounts[address] ?? [:]
            failed[account] = now
            if failed.count > Self.accountsPerAddress { failed = failed.filter { now - $0.value < Self.memory } }
            if failed.count > 2 * Self.accountsPerAddress { Self.forgetOldest(&failed) { $0 } }
            accounts[address] = failed
        }
        bound()
    }

    /// Whether the account was signed in to from the address before.
    func isKnown(account: String, address: NetworkAddress) -> Bool {
        known[Pair(account: account, address: address)] != nil
    }

    /// Clears the pair's failures after a successful sign-in.
    mutating func succeed(account: String, address: NetworkAddress, now: Int64) {
        let pair = Pair(account: account, address: address)
        failures[pair] = nil
        accounts[address]?[account] = nil
        known[pair] = now
        bound()
    }

    // MARK: single states, which several servers share

    func failures(account: String, address: NetworkAddress) -> (count: Int, last: Int64)? {
        failures[Pair(account: account, address: address)].map { ($0.count, $0.last) }
    }

    /// The accounts for which an address has failed, each with the time.
    func failedAccounts(of address: NetworkAddress) -> [String: Int64] { accounts[address] ?? [:] }

    /// The time of the last sign-in to an account from an address.
    func signIn(account: String, address: NetworkAddress) -> Int64? {
        known[Pair(account: account, address: address)]
    }

    mutating func restore(failures count: Int, last: Int64, account: String, address: NetworkAddress) {
        failures[Pair(account: account, address: address)] = Failures(count: count, last: last)
    }

    mutating func restore(failureOf account: String, address: NetworkAddress, at time: Int64) {
        accounts[address, default: [:]][account] = time
    }

    mutating func restore(signInTo account: String, address: NetworkAddress, at time: Int64) {
        known[Pair(account: account, address: address)] = time
    }

    /// The number of entries in memory.
    var count: Int { failures.count + known.count + accounts.values.reduce(0) { $0 + $1.count } }

    private mutating func bound() {
        if failures.count > Self.keyLimit { Self.forgetOldest(&failures) { $0.last } }
        if known.count > Self.keyLimit { Self.forgetOldest(&known) { $0 } }
        if accounts.count > Self.keyLimit / 10 { Self.forgetOldest(&accounts) { $0.values.max() ?? 0 } }
    }

    private static func forgetOldest<Key: Hashable, Value>(
        _ entries: inout [Key: Value], time: (Value) -> Int64
    ) {
        let oldest = entries.sorted { time($0.value) < time($1.value) }.prefix(entries.count / 2)
        for (key, _) in oldest { entries[key] = nil }
    }
}
