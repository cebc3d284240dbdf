import SystemIO
import Testing

@Suite struct ThreadEventTests {
    @Test func `an event that was set before ends the next wait, and only that one`() {
        let event = ThreadEvent()
        event.set()
        event.set()
        #expect(event.wait(atMost: .seconds(3600)))
        #expect(!event.wait(atMost: .zero))
        #expect(!event.wait(atMost: .seconds(-1)))
    }

    @Test func `a wait ends when another thread sets the event`() throws {
        let (there, back) = (ThreadEvent(), ThreadEvent())
        try WorkerThread.start(named: "event") {
            for _ in 0..<1000 {
                guard there.wait(atMost: .seconds(60)) else { return }
                back.set()
            }
        }
        for _ in 0..<1000 {
            there.set()
            #expect(back.wait(atMost: .seconds(60)))
        }
    }

    @Test func `a wait without an event takes at least its limit`() {
        let start = ContinuousClock.now
        #expect(!ThreadEvent().wait(atMost: .milliseconds(1)))
        #expect(ContinuousClock.now - start >= .milliseconds(1))
    }
}
