import SystemIO
import Testing

struct ConnectionLimiterTests {
    private typealias Limiter = ConnectionLimiter<Int>

    private let start = ContinuousClock.now

    private func site(_ number: Int) throws -> IPAddress { try #require(IPAddress("192.0.2.\(number)")) }

    /// Returns the use and the time of each connection, each later than the one before.
    private func uses(_ uses: [Int: Limiter.Use]) -> (Int) -> (Limiter.Use, ContinuousClock.Instant) {
        { id in (uses[id] ?? .busy, start + .seconds(id)) }
    }

    @Test func `an address at its limit gives up the connection that does least, longest first`() throws {
        var limiter = Limiter(.init(total: 100, perSite: 4))
        let uses = uses([1: .waiting, 2: .idle, 3: .unproven, 4: .unproven, 5: .busy, 6: .busy, 7: .busy, 8: .busy])
        for id in 1...4 { #expect(limiter.open(id, try site(1), use: uses) == .admitted) }
        #expect(limiter.open(5, try site(1), use: uses) == .replacing(3))
        #expect(limiter.open(6, try site(1), use: uses) == .replacing(4))
        #expect(limiter.open(7, try site(1), use: uses) == .replacing(2))
        #expect(limiter.open(8, try site(1), use: uses) == .replacing(1))
        #expect(limiter.open(9, try site(1), use: uses) == .refused)
        #expect(limiter.count == 4)
        // Another address has its own places, and a connection that ends frees one.
        #expect(limiter.open(10, try site(2), use: uses) == .admitted)
        limiter.close(8)
        #expect(limiter.open(11, try site(1), use: uses) == .admitted)
    }

    @Test func `a full server gives up a connection of the address that holds most`() throws {
        var limiter = Limiter(.init(total: 6, perSite: 0))
        let uses = uses([1: .unproven, 2: .busy, 3: .busy, 4: .idle, 5: .waiting, 6: .unproven])
        #expect(limiter.open(1, try site(1), use: uses) == .admitted)
        for id in 2...5 { #expect(limiter.open(id, try site(2), use: uses) == .admitted) }
        #expect(limiter.open(6, try site(3), use: uses) == .admitted)
        // Address 2 has the most connections, so its idle one is replaced rather than the older one
        // of address 1 that has not proven itself.
        #expect(limiter.open(7, try site(4), use: uses) == .replacing(4))
        #expect(limiter.open(8, try site(4), use: uses) == .replacing(5))
        // The address then has no connection left to replace.
        #expect(limiter.open(9, try site(5), use: uses) == .replacing(1))
        #expect(limiter.open(10, try site(5), use: uses) == .replacing(6))
        #expect(limiter.open(11, try site(5), use: uses) == .refused)
        #expect(limiter.count == 6)
    }

    @Test func `a proxy's connections count towards the total only`() throws {
        var limiter = Limiter(.init(total: 5, perSite: 1))
        let uses = uses([1: .idle, 2: .idle, 3: .idle, 4: .idle, 9: .unproven])
        for id in 1...4 { #expect(limiter.open(id, nil, use: uses) == .admitted) }
        #expect(limiter.open(9, try site(1), use: uses) == .admitted)
        #expect(limiter.open(10, nil, use: uses) == .replacing(9))
        #expect(limiter.open(11, nil, use: uses) == .replacing(1))
    }

    @Test func `a flood of connections never takes the places of requests in progress`() throws {
        var limiter = Limiter(.init(total: 50, perSite: 10))
        let uses: (Int) -> (Limiter.Use, ContinuousClock.Instant) = { [start] id in
            (id < 40 ? .busy : .unproven, start + .seconds(id))
        }
        for id in 0..<40 { #expect(limiter.open(id, try site(id), use: uses) == .admitted) }
        var open = Set(0..<40)
        for id in 40..<10_000 {
            switch limiter.open(id, try site(100 + id % 100), use: uses) {
            case .admitted: open.insert(id)
            case .replacing(let victim):
                let wasOpen = open.remove(victim) != nil
                #expect(wasOpen && victim >= 40)
                open.insert(id)
            case .refused: Issue.record("There were connections to give up.")
            }
            #expect(limiter.count == open.count && open.count <= 50)
        }
        #expect(open.isSuperset(of: 0..<40))
    }
}

struct TransferPaceTests {
    private let start = ContinuousClock.now

    /// Takes a measurement each second. Returns the second in which the client was found to be too
    /// slow.
    private func end(within seconds: Int, bytes: (Int) -> UInt64, isWaiting: (Int) -> Bool = { _ in true }) -> Int? {
        var pace = TransferPace(at: start)
        return (1...seconds).first {
            !pace.keepsUp(bytes: bytes($0), isWaiting: isWaiting($0), at: start + .seconds($0))
        }
    }

    @Test func `a client that sends nothing has the grace`() { #expect(end(within: 100) { _ in 0 } == 10) }

    @Test func `a byte now and then is too slow`() {
        #expect(end(within: 100) { UInt64($0) } == 11)
        #expect(end(within: 1000) { UInt64($0) * 1000 }.map { $0 > 100 } == true)
    }

    @Test func `the minimum rate is enough for ever`() { #expect(end(within: 100_000) { UInt64($0) * 1024 } == nil) }

    @Test func `a fast start buys a pause, and no more than that`() {
        #expect(end(within: 1000) { _ in 64 << 20 } == 31)
        #expect(end(within: 1000) { $0 < 20 ? 64 << 20 : 65 << 20 } == 50)
    }

    @Test func `time in which the server holds the client back does not count`() {
        #expect(end(within: 10_000, bytes: { _ in 0 }, isWaiting: { _ in false }) == nil)
        #expect(end(within: 10_000, bytes: { _ in 0 }, isWaiting: { $0 > 5000 }) == 5010)
    }

    @Test func `numbers that go backwards or are extreme do no harm`() {
        var pace = TransferPace(bytes: .max, at: start)
        #expect((pace.keepsUp(bytes: 0, isWaiting: true, at: start - .seconds(5))) == true)
        #expect((pace.keepsUp(bytes: .max, isWaiting: true, at: start + .seconds(1))) == true)
        var other = TransferPace(at: start)
        #expect((other.keepsUp(bytes: .max, isWaiting: true, at: start + .seconds(1))) == true)
    }
}
