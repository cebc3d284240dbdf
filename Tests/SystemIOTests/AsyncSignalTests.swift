import SystemIO
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AsyncSignalTests {
    @Test func `a signal that is set before the wait ends it`() async {
        let signal = AsyncSignal()
        signal.set()
        signal.set()
        await signal.wait()
        // Both count as one.
        #expect(await !signal.wait(atMost: .zero, in: .system))
    }

    @Test func `a signal ends the wait of a task, and a cancellation does`() async {
        let signal = AsyncSignal()
        let waiting = Task { await signal.wait() }
        signal.set()
        await waiting.value
        let cancelled = Task { await signal.wait() }
        cancelled.cancel()
        await cancelled.value
    }

    @Test func `a gate ends every wait for its state, and a cancellation does`() async {
        let gate = AsyncGate(isOpen: false)
        await gate.wait(isOpen: false)
        let waiting = [Task { await gate.wait() }, Task { await gate.wait() }]
        gate.set(isOpen: true)
        for task in waiting { await task.value }
        let cancelled = Task { await gate.wait(isOpen: false) }
        cancelled.cancel()
        await cancelled.value
        #expect(gate.isOpen)
    }
}
