import SystemIO
import Testing

@Suite struct BackoffTests {
    @Test func `waits grow to the limit, are spread, and begin again after a success`() {
        var backoff = Backoff.firestore
        #expect(backoff.next(random: 0) == .milliseconds(250))
        #expect(backoff.next(random: 1) == .milliseconds(750))
        for _ in 0..<50 { #expect(backoff.next(random: 0.999) <= .seconds(60)) }
        #expect(backoff.next(random: 1) == .seconds(60))
        backoff.reset()
        #expect(backoff.next(random: 0) == .milliseconds(250))
        #expect(backoff.next(random: 1, isOverloaded: true) == .seconds(60))
    }

    @Test func `each ceiling is the growth times the one before it`() {
        var backoff = Backoff(.seconds(1) ... .seconds(64), spread: 1...1)
        let waits = (0..<8).map { _ in backoff.next(random: 0.3) }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 64].map { .seconds($0) })
    }

    @Test func `a spread above one exceeds the ceiling, and numbers outside 0 to 1 count as those`() {
        var backoff = Backoff(.seconds(10) ... .seconds(10), spread: 0.8...1.2)
        #expect(backoff.next(random: -7) == .seconds(8) && backoff.next(random: 7) == .seconds(12))
        #expect(backoff.next(random: 0.5) == .seconds(10))
    }
}
