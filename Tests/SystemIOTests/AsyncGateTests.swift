import SystemIO
import Testing

struct AsyncGateTests {
    @Test func `every waiting task continues when the gate opens, and later ones at once`() async {
        let gate = AsyncGate(isOpen: false)
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { await gate.wait() } }
            group.addTask { gate.set(isOpen: true) }
        }
        await gate.wait()
        gate.set(isOpen: true)
    }

    @Test func `a cancelled wait ends`() async {
        let gate = AsyncGate(isOpen: false)
        let waiting = Task { await gate.wait() }
        waiting.cancel()
        await waiting.value
    }
}
