import Testing

@testable import Identity

@Suite struct AttemptLimiterTests {
    private func fail(_ limiter: inout AttemptLimiter, _ count: Int, email: String, address: String) {
        for _ in 0..<count { limiter.fail(email: email, address: address, now: 0) }
    }

    @Test func `nobody is kept out by failures from elsewhere`() {
        var limiter = AttemptLimiter()
        fail(&limiter, AttemptLimiter.failuresPerPair, email: "anna", address: "1.1.1.1")
        #expect(!limiter.allows(email: "anna", address: "1.1.1.1", now: 299))
        #expect(limiter.allows(email: "anna", address: "2.2.2.2", now: 299))
        #expect(limiter.allows(email: "bob", address: "1.1.1.1", now: 299))
        #expect(limiter.allows(email: "anna", address: "1.1.1.1", now: 300))
    }

    @Test func `many addresses together, and one with many e-mails, are stopped`() {
        var limiter = AttemptLimiter()
        for number in 0..<10 { fail(&limiter, 10, email: "anna", address: "address \(number)") }
        #expect(!limiter.allows(email: "anna", address: "another", now: 0))
        for number in 0..<20 { fail(&limiter, 5, email: "user \(number)", address: "busy") }
        #expect(!limiter.allows(email: "bob", address: "busy", now: 0))
        #expect(limiter.allows(email: "bob", address: "quiet", now: 0))
    }

    @Test func `a success forgives what went wrong before from there`() {
        var limiter = AttemptLimiter()
        fail(&limiter, 9, email: "anna", address: "1.1.1.1")
        limiter.succeed(email: "anna", address: "1.1.1.1")
        fail(&limiter, 9, email: "anna", address: "1.1.1.1")
        #expect(limiter.allows(email: "anna", address: "1.1.1.1", now: 0))
    }
}
