/// Allowances of events, one for each key, which refill over time. Pure: time is passed in.
///
/// Memory is bounded: above `keyLimit` keys the fullest allowances are forgotten first, which only
/// makes them full again.
package struct TokenBuckets: Sendable {
    private struct Bucket {
        var level: Double
        var time: Double
    }

    /// The number of events that may occur at once.
    package var burst: Double
    /// The sustained number of events per second.
    package var rate: Double
    private let keyLimit: Int
    private var buckets: [String: Bucket] = [:]

    package init(burst: Double, perSecond rate: Double, keyLimit: Int = 10_000) {
        self.burst = burst
        self.rate = rate
        self.keyLimit = keyLimit
    }

    /// Whether another event is allowed.
    ///
    /// - Parameter now: The seconds of any clock. A clock that goes back refills nothing.
    package func allows(_ key: String, now: Double) -> Bool { level(key, now: now) >= 1 }

    /// Counts an event if it is allowed; otherwise returns false and counts nothing.
    package mutating func take(_ key: String, now: Double) -> Bool { take(key, burst: burst, rate: rate, now: now) }

    /// Counts an event of a key with an allowance of its own.
    package mutating func take(_ key: String, burst: Double, rate: Double, now: Double) -> Bool {
        // If the clock was set back, refilling continues from its present time.
        if let bucket = buckets[key], bucket.time > now { buckets[key]?.time = now }
        let level = level(key, burst: burst, rate: rate, now: now)
        guard level >= 1 else { return false }
        buckets[key] = Bucket(level: level - 1, time: now)
        if buckets.count > keyLimit { forgetFullest(now: now) }
        return true
    }

    /// The number of events that were left of a key's allowance at a time; nil for all.
    func allowance(of key: String) -> (level: Double, time: Double)? {
        buckets[key].map { ($0.level, $0.time) }
    }

    mutating func setAllowance(of key: String, level: Double, time: Double) {
        buckets[key] = Bucket(level: level, time: time)
    }

    /// The number of keys in memory.
    var count: Int { buckets.count }

    private func level(_ key: String, now: Double) -> Double { level(key, burst: burst, rate: rate, now: now) }

    private func level(_ key: String, burst: Double, rate: Double, now: Double) -> Double {
        guard let bucket = buckets[key] else { return burst }
        return min(burst, bucket.level + max(0, now - bucket.time) * rate)
    }

    private mutating func forgetFullest(now: Double) {
        let levels = buckets.keys.map { ($0, level($0, now: now)) }.sorted { $0.1 > $1.1 }
        for (key, _) in levels.prefix(keyLimit / 2) { buckets[key] = nil }
    }
}
