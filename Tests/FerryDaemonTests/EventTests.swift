import Control
import JSON
import SystemIO
import TaskModel
import Testing

@testable import FerryDaemon
@testable import TaskSync

struct EventTests {
    @Test func `a ring returns the events after a given one`() {
        var ring = EventRing(capacity: 8, firstID: 100)
        for number in 0..<5 { _ = ring.append(.task, .integer(Int64(number))) }
        #expect(ring.events(after: 100).map(\.id) == [101, 102, 103, 104, 105])
        #expect(ring.events(after: 103).map(\.id) == [104, 105])
        #expect(ring.events(after: 105).isEmpty)
    }

    @Test func `if events are lost, a reader starts again`() {
        var ring = EventRing(capacity: 8, firstID: 0)
        for number in 0..<20 { _ = ring.append(.task, .integer(Int64(number))) }
        #expect(ring.events(after: 1).isEmpty)
        #expect(!ring.events(after: 19).isEmpty)
        #expect(ring.events(after: 11).isEmpty)
        #expect(ring.events(after: 4000).isEmpty)
    }

    @Test func `a stream starts with the status, followed by the missed events`() async throws {
        let hub = EventHub()
        let first = hub.events(after: nil, status: ["n": 0])
        hub.publish(.task, ["n": 1])
        hub.publish(.task, ["n": 2])
        var iterator = first.makeAsyncIterator()
        let status = try #require(try await iterator.next())
        #expect(status.kind == .status)
        let seen = try #require(try await iterator.next())
        #expect(seen.id == status.id + 1)

        var again = hub.events(after: seen.id, status: ["n": 3]).makeAsyncIterator()
        #expect(try await again.next()?.kind == .status)
        #expect(try await again.next()?.data == ["n": 2])
    }

    @Test func `ids of a later daemon are larger`() async throws {
        let earlier = EventHub()
        for _ in 0..<100 { earlier.publish(.task, .null) }
        var old = earlier.events(after: nil, status: .null).makeAsyncIterator()
        let last = try #require(try await old.next())
        let clock = ContinuousClock.now
        while ContinuousClock.now - clock < .milliseconds(2) {}
        var new = EventHub().events(after: nil, status: .null).makeAsyncIterator()
        #expect(try #require(try await new.next()).id > last.id)
    }

    @Test func `a transfer that failed, was restarted and failed again is reported`() {
        var transfer = Transfer(id: "t1", task: "t", attachment: "a", name: "plan.pdf", isUpload: false, size: 1)
        transfer.phase = .failed("a chunk is damaged")
        let seen = SeenTransfer(transfer)
        #expect(SeenTransfer(transfer) == seen)
        transfer.run += 1
        #expect(SeenTransfer(transfer) != seen)
        #expect(SeenTransfer(transfer).summary == seen.summary)
    }

    @Test func `a reader that falls far behind is cut off`() async throws {
        let hub = EventHub()
        let stream = hub.events(after: nil, status: .null)
        for number in 0..<5000 { hub.publish(.task, .integer(Int64(number))) }
        var count = 0
        for try await _ in stream { count += 1 }
        #expect(count == 2048)
        #expect(!hub.hasListeners)
    }

    @Test func `closing ends all streams, later ones too`() async throws {
        let hub = EventHub()
        let stream = hub.events(after: nil, status: .null)
        hub.close()
        var count = 0
        for try await _ in stream { count += 1 }
        #expect(count == 1)
        for try await _ in hub.events(after: nil, status: .null) { Issue.record("an event after the end") }
    }

    @Test(.timeLimit(.minutes(1))) func `a listener cancelled while events arrive does not block others`() async {
        let hub = EventHub()
        let publishing = Task.detached {
            while !Task.isCancelled { hub.publish(.task, .null) }
        }
        for _ in 0..<2000 {
            let stream = hub.events(after: nil, status: .null)
            let listener = Task { for try await _ in stream {} }
            await Task.yield()
            listener.cancel()
            _ = await listener.result
        }
        publishing.cancel()
        await publishing.value
    }

    @Test func `a signal reports a change that came before the wait`() async {
        let hub = EventHub()
        let signal = hub.subscribe()
        hub.poke()
        hub.poke()
        await signal.wait()
        let waiting = Task { await signal.wait() }
        hub.poke()
        await waiting.value
    }
}
