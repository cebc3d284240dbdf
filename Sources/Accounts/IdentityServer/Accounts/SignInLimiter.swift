/// Decides when a sign-in may be tried. Pure: time is passed in, in seconds.
///
/// Failures count for the pair of account and network address, so an account's owner can sign in
/// from elsewhere however often others fail in the owner's name, and others behind the same address
/// can sign in to theirs. After `freeFailures` the pair waits 1, 2, 4 … seconds, at most
/// `longestDelay`, before its next attempt.
///
/// An address that fails for many accounts tries common passwords on all of them. Past
/// `accountsPerAddress` within `memory` it may only sign in to accounts that it signed in to
/// before.
struct SignInLimiter: Sendable {
    static let freeFailures = 5
    static let longestDelay: Int64 = 900
    /// Seconds after which failures are forgotten.
    static let memory: Int64 = 3600
    static let accountsPerAddress = 100
    /// Pairs and addresses remembered at a time. Past it the oldest half is forgotten.
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
    /// The pairs that have signed in, and when.
    private var known: [Pair: Int64] = [:]

    /// The seconds until an attempt is allowed; 0: now.
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

    /// What happened before the clock was set back, by a time that is yet to come, counts no more:
    /// nobody is to wait for that.
    private func isPast(_ time: Int64, _ now: Int64) -> Bool { time <= now + 60 }

    /// - Parameter exists: whether there is such an account; made-up ones endanger none, and must not use up the allowance
    ///   of the others behind the address.
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

    /// A success forgives the pair's failures.
    mutating func succeed(account: String, address: NetworkAddress, now: Int64) {
        let pair = Pair(account: account, address: address)
        failures[pair] = nil
        accounts[address]?[account] = nil
        known[pair] = now
        bound()
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
