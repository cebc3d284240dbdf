/// Counts failed sign-ins, for an e-mail and for an address, and says when it is enough. Pure: time is given.
struct AttemptLimiter: Sendable {
    /// Seconds after which a failure is forgotten.
    static let window: Int64 = 300
    static let failuresPerEmail = 10
    static let failuresPerAddress = 100

    /// Keys remembered at a time, so that made-up e-mails cannot fill the memory.
    private static let keyLimit = 10_000

    private var failures: [String: [Int64]] = [:]

    mutating func allows(email: String, address: String, now: Int64) -> Bool {
        count("e \(email)", now) < Self.failuresPerEmail && count("a \(address)", now) < Self.failuresPerAddress
    }

    mutating func fail(email: String, address: String, now: Int64) {
        if failures.count >= Self.keyLimit {
            failures = failures.filter { $0.value.contains { now - $0 < Self.window } }
            if failures.count >= Self.keyLimit { failures.removeAll() }
        }
        failures["e \(email)", default: []].append(now)
        failures["a \(address)", default: []].append(now)
    }

    mutating func succeed(email: String) { failures["e \(email)"] = nil }

    private mutating func count(_ key: String, _ now: Int64) -> Int {
        guard let times = failures[key] else { return 0 }
        let recent = times.filter { now - $0 < Self.window }
        failures[key] = recent.isEmpty ? nil : recent
        return recent.count
    }
}
