import Testing

@testable import IdentityServer

@Suite struct SignInLimiterTests {
    private let home = NetworkAddress(peer: "1.1.1.1:5")
    private let elsewhere = NetworkAddress(peer: "2.2.2.2:5")

    private func fail(
        _ limiter: inout SignInLimiter, _ count: Int, account: String, exists: Bool = true,
        from address: NetworkAddress,
        now: Int64 = 0
    ) {
        for _ in 0..<count { limiter.fail(account: account, exists: exists, address: address, now: now) }
    }

    @Test(arguments: [
        (0, 0), (4, 0), (5, 1), (6, 2), (7, 4), (10, 32), (14, 512), (15, 900), (40, 900), (5000, 900),
    ])
    func `the delay of a pair grows with its failures`(failures: Int, delay: Int64) {
        var limiter = SignInLimiter()
        fail(&limiter, failures, account: "anna", from: home)
        #expect(limiter.delay(account: "anna", address: home, now: 0) == delay)
        #expect(limiter.delay(account: "anna", address: home, now: delay) == 0)
        // The clock was set back by a day.
        #expect(limiter.delay(account: "anna", address: home, now: -86_400) == 0)
        #expect(limiter.delay(account: "anna", address: elsewhere, now: 0) == 0)
        #expect(limiter.delay(account: "bob", address: home, now: 0) == 0)
    }

    @Test func `failures are forgotten after an hour, and by a success`() {
        var limiter = SignInLimiter()
        fail(&limiter, 12, account: "anna", from: home)
        fail(&limiter, 1, account: "anna", from: home, now: SignInLimiter.memory)
        #expect(limiter.delay(account: "anna", address: home, now: SignInLimiter.memory) == 0)
        fail(&limiter, 12, account: "anna", from: home, now: SignInLimiter.memory)
        limiter.succeed(account: "anna", address: home, now: SignInLimiter.memory)
        #expect(limiter.delay(account: "anna", address: home, now: SignInLimiter.memory) == 0)
    }

    @Test func `an address that tries many accounts is stopped, except for users who signed in there before`() {
        var limiter = SignInLimiter()
        limiter.succeed(account: "bob", address: home, now: 0)
        for number in 0..<SignInLimiter.accountsPerAddress {
            #expect(limiter.delay(account: "user \(number)", address: home, now: 0) == 0)
            fail(&limiter, 1, account: "user \(number)", from: home)
        }
        #expect(limiter.delay(account: "carol", address: home, now: 0) > 0)
        #expect(limiter.delay(account: "bob", address: home, now: 0) == 0)
        #expect(limiter.delay(account: "carol", address: elsewhere, now: 0) == 0)
        #expect(limiter.delay(account: "carol", address: home, now: SignInLimiter.memory) == 0)
    }

    @Test func `made-up accounts do not use up the allowance of others behind the address`() {
        var limiter = SignInLimiter()
        for number in 0..<5000 { fail(&limiter, 1, account: "made up \(number)", exists: false, from: home) }
        #expect(limiter.delay(account: "carol", address: home, now: 0) == 0)
    }

    @Test func `memory is bounded for any input`() {
        var limiter = SignInLimiter()
        for number in 0..<60_000 {
            let address = NetworkAddress(peer: "10.\(number >> 16).\(number >> 8 & 255).\(number & 255):1")
            fail(&limiter, 1, account: "user \(number)", from: address, now: Int64(number) / 100)
            limiter.succeed(account: "other \(number)", address: address, now: Int64(number) / 100)
        }
        for number in 0..<5000 { fail(&limiter, 1, account: "user \(number)", from: home) }
        #expect(limiter.count <= 3 * SignInLimiter.keyLimit)
    }

    @Test(arguments: [
        ("1.2.3.4:80", "1.2.3.4"), ("1.2.3.4", "1.2.3.4"), ("[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"), ("[2001:db8::9]", "2001:db8:0:0::/64"),
        ("[fe80::1%eth0]:9", "fe80:0:0:0::/64"), ("[::ffff:1.2.3.4]:80", "1.2.3.4"), ("[::1]:443", "::1"),
        ("::1", "::1"), ("local", "local"), ("unknown", "unknown"), ("", ""), ("[", "["), (":", ""),
        ("[1:2:3:4:5:6:7:8:9]:1", "1:2:3:4:5:6:7:8:9"),
    ])
    func `limits are counted by the network of a caller`(peer: String, expected: String) {
        #expect(NetworkAddress(peer: peer).description == expected)
    }

    @Test func `an allowance is used up and refills`() {
        var buckets = TokenBuckets(burst: 3, perSecond: 0.5, keyLimit: 10)
        for _ in 0..<3 { #expect({ buckets.take("a", now: 0) }()) }
        #expect({ !buckets.take("a", now: 0) }())
        #expect({ !buckets.take("a", now: 1.9) }())
        #expect({ buckets.take("b", now: 0) }())
        #expect({ buckets.take("a", now: 2) }())
        #expect({ !buckets.take("a", now: 2) }())
        // Setting the clock back refills nothing; refilling continues from the new time.
        #expect({ !buckets.take("a", now: -100) }())
        #expect({ buckets.take("a", now: -98) }())
        for number in 0..<1000 { _ = buckets.take("\(number)", now: 4) }
        #expect(buckets.count <= 10)
    }

    @Test func `a queue is served in turn by key, and the busiest gives way where it is full`() {
        var queue = FairQueue<String, Int>(limit: 6, perKey: 4)
        let refused = (0..<6).map { queue.append($0, for: "busy") }
        #expect(refused == [nil, nil, nil, nil, 4, 5])
        let others = [
            queue.append(10, for: "other"), queue.append(20, for: "third"), queue.append(30, for: "fourth"),
            queue.append(31, for: "fourth"), queue.append(32, for: "fourth"),
        ]
        #expect(others == [nil, nil, 3, 2, 32])
        var order: [Int] = []
        while let next = queue.next() { order.append(next) }
        #expect(order == [0, 10, 20, 30, 1, 31])
        #expect(queue.count == 0)
    }
}
