import IdentityProtocol
import JSON
import Synchronization
import SystemIO

/// Counts sign-ins, and what else callers may do only so often: in memory, or, if several servers
/// share the accounts, in their database.
///
/// The decisions are those of `SignInLimiter` and `TokenBuckets`.
enum RateLimits: Sendable {
    case memory(RateLimitsInMemory)
    case database(any AccountDatabase)

    /// A kind of event that is limited by key.
    enum Kind: String, CaseIterable, Sendable {
        /// Sign-ups from a network address.
        case signUp = "sign-up"
        /// Look-ups of unknown e-mail addresses by an account, and by all accounts behind a network
        /// address.
        case lookup, lookupOfAddress
        /// Mails to a recipient, or from an address.
        case mail

        /// An empty allowance.
        var buckets: TokenBuckets {
            switch self {
            case .signUp: TokenBuckets(burst: Accounts.signUpBurst, perSecond: 1.0 / 60)
            case .lookup: TokenBuckets(burst: Accounts.lookupBurst, perSecond: 1.0 / 30)
            case .lookupOfAddress: TokenBuckets(burst: Accounts.lookupBurstPerAddress, perSecond: 1.0 / 30)
            case .mail: TokenBuckets(burst: 5, perSecond: 1.0 / 300)
            }
        }
    }

    /// The kind and key of an event.
    struct Event: Sendable {
        let kind: Kind
        let key: String

        init(_ kind: Kind, _ key: String) {
            self.kind = kind
            self.key = key
        }
    }

    /// Whether each of the events is allowed now.
    func allow(_ events: [Event], now: Int64) async throws -> Bool {
        try await withBuckets(of: events, now: now) { buckets in
            events.allSatisfy { buckets[$0.kind]?.allows($0.key, now: Double(now)) ?? false }
        }
    }

    /// Counts the events if all of them are allowed. Otherwise returns false and counts none.
    func take(_ events: [Event], now: Int64) async throws -> Bool {
        try await withBuckets(of: events, now: now) { buckets in
            guard events.allSatisfy({ buckets[$0.kind]?.allows($0.key, now: Double(now)) ?? false }) else {
                return false
            }
            for event in events { _ = buckets[event.kind]?.take(event.key, now: Double(now)) }
            return true
        }
    }

    /// Runs `body` with the state of the sign-ins to an account from a network address.
    func withSignIns<Result: Sendable>(
        to account: String, from address: NetworkAddress, now: Int64,
        _ body: @escaping @Sendable (inout SignInLimiter) -> Result
    ) async throws -> Result {
        switch self {
        case .memory(let memory): return memory.signIns.withLock { body(&$0) }
        case .database(let database):
            let keys = ["address \(address)", "sign-in \(address) \(account)"]
            return try await database.transaction { database in
                let states = try Self.lock(keys, now: now, in: database)
                var limiter = SignInLimiter(account: account, address: address, states: states)
                let result = body(&limiter)
                try Self.store(
                    limiter.states(account: account, address: address), of: keys, before: states, in: database)
                return result
            }
        }
    }

    private func withBuckets<Result: Sendable>(
        of events: [Event], now: Int64, _ body: @escaping @Sendable (inout [Kind: TokenBuckets]) -> Result
    ) async throws -> Result {
        switch self {
        case .memory(let memory): return memory.buckets.withLock { body(&$0) }
        case .database(let database):
            // All servers lock rows in the same order.
            let events = events.sorted { ($0.kind.rawValue, $0.key) < ($1.kind.rawValue, $1.key) }
            let keys = events.map { "\($0.kind.rawValue) \($0.key)" }
            return try await database.transaction { database in
                let states = try Self.lock(keys, now: now, in: database)
                var buckets = Dictionary(Kind.allCases.map { ($0, $0.buckets) }, uniquingKeysWith: { $1 })
                for (event, state) in zip(events, states) { buckets[event.kind]?.restore(event.key, state) }
                let result = body(&buckets)
                try Self.store(
                    events.map { buckets[$0.kind]?.state(of: $0.key) ?? .null }, of: keys, before: states, in: database)
                return result
            }
        }
    }

    /// Removes the states that decide nothing any more.
    func removeExpired(now: Int64) async throws {
        guard case .database(let database) = self else { return }
        try await database.transaction { database in
            try database.execute("DELETE FROM rate_limit WHERE expires_at<?", [.integer(now)])
        }
    }

    /// The seconds after which a state decides nothing any more: the longest time that
    /// `SignInLimiter` remembers, and that a bucket takes to be full.
    private static let lifetime = SignInLimiter.memory * 24

    /// Returns the states of keys, which other transactions cannot change until this one ends.
    private static func lock(
        _ keys: [String], now: Int64, in database: any AccountTransaction
    ) throws -> [JSON] {
        try keys.map { key in
            try database.execute(
                """
                INSERT INTO rate_limit(key, value, expires_at) VALUES(?,'null',?)
                ON CONFLICT(key) DO UPDATE SET expires_at=excluded.expires_at
                """, [.text(key), .integer(now.addingReportingOverflow(lifetime).partialValue)])
            let text = try database.first("SELECT value FROM rate_limit WHERE key=?", [.text(key)]) { $0.text(0) }
            return text.flatMap { try? JSON(parsing: $0, depth: 4) } ?? .null
        }
    }

    private static func store(
        _ states: [JSON], of keys: [String], before: [JSON], in database: any AccountTransaction
    ) throws {
        for (index, (key, state)) in zip(keys, states).enumerated() where state != before[index] {
            try database.execute("UPDATE rate_limit SET value=? WHERE key=?", [.text(state.text), .text(key)])
        }
    }
}

/// The counts of one server.
final class RateLimitsInMemory: Sendable {
    let signIns = Mutex(SignInLimiter())
    let buckets = Mutex(
        Dictionary(RateLimits.Kind.allCases.map { ($0, $0.buckets) }, uniquingKeysWith: { $1 }))
}

extension TokenBuckets {
    /// The state of a key, in thousandths of events and of seconds; null if it is as full as at first.
    fileprivate func state(of key: String) -> JSON {
        guard let (level, time) = allowance(of: key) else { return .null }
        return [.integer(Int64(saturating: level * 1000)), .integer(Int64(saturating: time * 1000))]
    }

    fileprivate mutating func restore(_ key: String, _ state: JSON) {
        guard let level = state[0]?.integerValue, let time = state[1]?.integerValue else { return }
        setAllowance(of: key, level: Double(level) / 1000, time: Double(time) / 1000)
    }
}

extension SignInLimiter {
    /// Creates a limiter that knows one account and one network address.
    ///
    /// - Parameter states: The state of the address, and of the account with it.
    fileprivate init(account: String, address: NetworkAddress, states: [JSON]) {
        self.init()
        guard states.count == 2 else { return }
        for (account, time) in states[0].objectValue?.members ?? [] {
            if let time = Self.time(time) { restore(failureOf: account, address: address, at: time) }
        }
        let pair = states[1]
        if let count = pair["failures"]?.integerValue, let last = Self.time(pair["last"]) {
            restore(failures: Int(min(max(0, count), 1000)), last: last, account: account, address: address)
        }
        if let time = Self.time(pair["known"]) { restore(signInTo: account, address: address, at: time) }
    }

    /// Returns a stored time, if it is one with which one can count.
    private static func time(_ value: JSON?) -> Int64? {
        value?.integerValue.flatMap { (0..<1 << 40).contains($0) ? $0 : nil }
    }

    /// The states of the address, and of the account with it.
    fileprivate func states(account: String, address: NetworkAddress) -> [JSON] {
        var failed = JSONObject()
        for (account, time) in failedAccounts(of: address).sorted(by: { $0.key < $1.key }) {
            failed[account] = .integer(time)
        }
        var pair = JSONObject()
        if let (count, last) = failures(account: account, address: address) {
            (pair["failures"], pair["last"]) = (.integer(Int64(count)), .integer(last))
        }
        if let time = signIn(account: account, address: address) { pair["known"] = .integer(time) }
        return [failed.keys.isEmpty ? .null : .object(failed), pair.keys.isEmpty ? .null : .object(pair)]
    }
}
