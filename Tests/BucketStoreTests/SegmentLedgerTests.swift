import Testing

@testable import BucketStore

struct SegmentLedgerTests {
    private func place(_ number: Int, _ block: Int64, blocks: Int64 = 2) -> SegmentPlace {
        SegmentPlace(
            number: number, offset: block * EntryFormat.block, size: (blocks - 1) * EntryFormat.block)
    }

    @Test func `a reader keeps a place, and no reader can start once it is released`() {
        var ledger = SegmentLedger()
        ledger.begin(1)
        let place = place(1, 1)
        ledger.take(place)
        var isLeased = false
        for _ in 0..<2 {
            isLeased = ledger.lease(place)
            #expect(isLeased)
        }
        #expect(ledger.release(place) == [])
        isLeased = ledger.lease(place)
        #expect(!isLeased)
        #expect(!ledger.isSettled)
        #expect(ledger.endLease(place) == [])
        #expect(ledger.endLease(place) == [.free(place, isLast: false)])
        isLeased = ledger.lease(place)
        #expect(!isLeased)
        ledger.hasFreed(place)
        #expect(ledger.isSettled)
        #expect(ledger.live == [1: 0])
        // The segment is empty, and still written.
        #expect(ledger.seal(1) == [.remove(1)])
    }

    @Test func `the last place of a sealed segment removes the segment`() {
        var ledger = SegmentLedger()
        ledger.begin(7)
        let places = [place(7, 1), place(7, 3, blocks: 5)]
        for place in places { ledger.take(place) }
        #expect(ledger.live == [7: 7 * EntryFormat.block])
        #expect(ledger.seal(7) == [])
        #expect(ledger.release(places[0]) == [.free(places[0], isLast: false)])
        // A second release has no effect.
        #expect(ledger.release(places[0]) == [])
        #expect(ledger.release(places[1]) == [.free(places[1], isLast: true)])
        #expect(ledger.live == [:])
    }

    @Test func `sealed segments of which at most half is in use are worth emptying, the emptiest first`() {
        let block = EntryFormat.block
        // A segment that is full except for its header counts as full, even if it is small.
        let sizes: [Int: Int64] = [1: 2, 2: 9, 3: 9, 4: 9, 5: 101, 6: 1, 7: 9].mapValues { $0 * block }
        var ledger = SegmentLedger(live: [1: 1, 2: 4, 3: 5, 4: 1, 5: 50, 8: 1].mapValues { $0 * block })
        #expect(ledger.sparse(sizes) == [[4, 2, 5]])
        #expect(ledger.sparse(sizes, portion: 5 * block) == [[4, 2], [5]])
        #expect(ledger.sparse(sizes, portion: 4 * block) == [[4], [2], [5]])
        #expect(ledger.sparse([:]) == [])
        // A segment that is still written is not sparse.
        ledger.begin(7)
        let places = (0..<4).map { place(7, 1 + 2 * $0) }
        for place in places { ledger.take(place) }
        for place in places.dropFirst() { _ = ledger.release(place) }
        #expect(ledger.sparse(sizes) == [[4, 2, 5]])
        #expect(ledger.seal(7) == [])
        #expect(ledger.sparse(sizes) == [[4, 7, 2, 5]])
        #expect(ledger.sealed.sorted() == [1, 2, 3, 4, 5, 7, 8])
    }

    @Test func `an impossible sum neither empties a segment nor traps`() {
        let ledger = SegmentLedger(live: [1: .max, 2: .max / 2])
        #expect(ledger.sparse([1: 1 << 20, 2: 0]) == [])
    }

    /// Checks any order of events: each place is freed once, when it has no reader, and a segment
    /// is removed with its last one.
    @Test(arguments: 0..<100) func `events in any order free each place once`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var ledger = SegmentLedger()
        var (taken, readers, released, given):
            (Set<SegmentPlace>, [SegmentPlace: Int], Set<SegmentPlace>, Set<SegmentPlace>) =
                ([], [:], [], [])
        var gone: Set<Int> = []
        func check(_ actions: [SegmentLedger.Action]) {
            for action in actions {
                guard case .free(let place, let isLast) = action else {
                    Issue.record("seed \(seed): \(action)")
                    continue
                }
                #expect(released.contains(place) && readers[place] == nil, "seed \(seed)")
                #expect(given.insert(place).inserted, "seed \(seed)")
                #expect(isLast == taken.subtracting(given).allSatisfy { $0.number != place.number }, "seed \(seed)")
                if isLast { #expect(gone.insert(place.number).inserted, "seed \(seed)") }
                ledger.hasFreed(place)
            }
        }
        for number in 1...4 {
            ledger.begin(number)
            for block in 0..<6 {
                let place = place(number, Int64(1 + 2 * block))
                ledger.take(place)
                taken.insert(place)
            }
            #expect(ledger.seal(number) == [])
        }
        let places = taken.sorted { ($0.number, $0.offset) < ($1.number, $1.offset) }
        for _ in 0..<600 {
            let place = places.randomElement(using: &random) ?? places[0]
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                if !given.contains(place), ledger.lease(place) { readers[place, default: 0] += 1 }
            case 2:
                guard let count = readers[place] else { continue }
                readers[place] = count > 1 ? count - 1 : nil
                check(ledger.endLease(place))
            default:
                if released.insert(place).inserted { check(ledger.release(place)) }
            }
        }
        for (place, count) in readers {
            for left in (0..<count).reversed() {
                readers[place] = left > 0 ? left : nil
                check(ledger.endLease(place))
            }
        }
        for place in places where released.insert(place).inserted { check(ledger.release(place)) }
        #expect(given == taken && gone == [1, 2, 3, 4], "seed \(seed)")
        #expect(ledger == SegmentLedger(), "seed \(seed)")
    }
}
