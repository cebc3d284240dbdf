import Testing

@testable import FirestoreServer

struct ClosingTests {
    @Test func `everybody who waits goes on when it happens, and whoever comes later at once`() async {
        let closing = Closing()
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { await closing.wait() } }
            group.addTask { closing.close() }
        }
        await closing.wait()
        closing.close()
    }

    @Test func `a cancelled wait ends`() async {
        let closing = Closing()
        let waiting = Task { await closing.wait() }
        waiting.cancel()
        await waiting.value
    }
}
