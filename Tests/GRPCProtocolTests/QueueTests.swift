import Testing

@testable import GRPCProtocol

@Suite struct QueueTests {
    @Test(arguments: 0..<20 as Range<UInt64>) func `a queue returns its elements in order`(seed: UInt64) {
        var random = SeededRandom(seed)
        var queue = Queue<Int>()
        var put = 0
        var taken = 0
        for step in 0..<2000 {
            if Bool.random(using: &random) {
                queue.append(put)
                put += 1
            } else if let element = queue.popFirst() {
                #expect(element == taken, "seed \(seed), step \(step)")
                taken += 1
            } else {
                #expect(put == taken, "seed \(seed), step \(step)")
            }
            #expect(queue.isEmpty == (put == taken), "seed \(seed), step \(step)")
        }
    }

    /// A call that was busy once may then wait for hours.
    @Test func `an empty queue keeps the memory of a few elements`() {
        var queue = Queue<Int>()
        for number in 0..<1000 { queue.append(number) }
        while queue.popFirst() != nil {}
        #expect(queue.elements.capacity <= 8)
    }

    private func message(_ count: Int) -> Outgoing { Outgoing(message: [UInt8](repeating: 0, count: count)) }

    private func start(_ admission: SendQueue<Int>.Admission) -> Outgoing? {
        if case .accepted(let start) = admission { start } else { nil }
    }

    private func isDropped(_ admission: SendQueue<Int>.Admission) -> Bool {
        if case .dropped = admission { true } else { false }
    }

    @Test func `one send is under way at a time`() {
        var sends = SendQueue<Int>()
        #expect(start(sends.add(message(1)))?.message?.count == 1)
        #expect(start(sends.add(message(2))) == nil)
        #expect(start(sends.add(message(3))) == nil)
        let second = sends.sent(succeeded: true).start
        #expect(second?.message?.count == 2)
        let third = sends.sent(succeeded: true).start
        #expect(third?.message?.count == 3)
        #expect(sends.sent(succeeded: true).start == nil)
        #expect(start(sends.add(message(4)))?.message?.count == 4)
    }

    @Test func `senders wait while the queue is full and are resumed when it has room`() {
        var sends = SendQueue<Int>()
        _ = sends.add(message(1))
        #expect(sends.hasRoom)
        _ = sends.add(message(SendQueue<Int>.limit))
        #expect(!sends.hasRoom)
        sends.wait(1)
        sends.wait(2)
        #expect(sends.sent(succeeded: true).resume == [1, 2])
        #expect(sends.hasRoom)
    }

    @Test func `headers go with the first batch and with no other`() {
        var sends = SendQueue<Int>()
        #expect(start(sends.add(message(1)))?.headers == [:])
        #expect(isDropped(sends.add(Outgoing(headers: ["late": "header"]))))
        #expect(start(sends.add(message(2))) == nil)
        let second = sends.sent(succeeded: true).start
        #expect(second?.message?.count == 2 && second?.headers == nil)

        var early = SendQueue<Int>()
        #expect(start(early.add(Outgoing(headers: ["a": "b"])))?.headers == ["a": "b"])
    }

    @Test func `nothing is accepted after an end or a failure`() {
        var ended = SendQueue<Int>()
        _ = ended.add(Outgoing(end: .halfClose))
        #expect(isDropped(ended.add(message(1))))
        #expect(isDropped(ended.add(Outgoing(end: .halfClose))))

        var failed = SendQueue<Int>()
        _ = failed.add(message(1))
        _ = failed.add(message(SendQueue<Int>.limit))
        failed.wait(1)
        let (start, resume) = failed.sent(succeeded: false)
        #expect(start == nil && resume == [1])
        #expect(failed.hasRoom && isDropped(failed.add(message(1))))
    }

    @Test func `a message goes to the reader that waits and others are kept in order`() {
        var receives = ReceiveQueue<Int>()
        #expect(receives.ask() == nil)
        #expect(receives.wait(1) == nil)
        #expect(receives.received([1]) == (1, .message([1])))
        #expect(receives.received([2]) == (nil, .message([2])))
        #expect(receives.received([3]) == (nil, .message([3])))
        #expect(receives.ask() == .message([2]))
        #expect(receives.ask() == .message([3]))
        #expect(receives.ask() == nil)
    }

    @Test func `a message that comes between asking and waiting is not lost`() {
        var receives = ReceiveQueue<Int>()
        #expect(receives.ask() == nil)
        #expect(receives.received([1]) == (nil, .message([1])))
        #expect(receives.wait(1) == .message([1]))
    }

    @Test func `received messages are read before the end`() {
        var receives = ReceiveQueue<Int>()
        _ = receives.received([1])
        _ = receives.received(nil)
        #expect(receives.ask() == .message([1]))
        #expect(receives.ask() == .end)
        #expect(receives.wait(1) == .end)
    }

    @Test func `there is no room over the limit until the reader has caught up`() {
        var receives = ReceiveQueue<Int>()
        #expect(receives.hasRoom)
        let large = [UInt8](repeating: 0, count: ReceiveQueue<Int>.limit)
        _ = receives.received(large)
        #expect(!receives.hasRoom)
        #expect(receives.ask() == .message(large))
        #expect(receives.hasRoom)
    }

    @Test func `a flood of empty messages is not held without limit`() {
        var receives = ReceiveQueue<Int>()
        var count = 0
        while receives.hasRoom, count < 10_000 {
            _ = receives.received([])
            count += 1
        }
        #expect(count < 1000)
    }

    @Test func `a second reader is turned away`() {
        var receives = ReceiveQueue<Int>()
        _ = receives.wait(1)
        #expect(receives.ask() == .busy)
        #expect(receives.wait(2) == .busy)
    }
}

/// SplitMix64.
private struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
}
