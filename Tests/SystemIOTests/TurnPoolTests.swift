import Synchronization
import SystemIO
import SystemTestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct TurnPoolTests {
    private final class Order: Sendable {
        private let names = Mutex<[String]>([])

        var accounts: [String] { names.withLock { $0 } }

        func add(_ account: String) { names.withLock { $0.append(account) } }
    }

    private let pool = TurnPool(workers: 1)
    private let executor = HandExecutor()
    /// The accounts whose work has run.
    private let order = Order()

    private func start(_ account: String) -> Task<Void, any Error> {
        let task = Task(executorPreference: executor) { [pool, order] in
            try await pool.run(for: account) { _ in order.add(account) }
        }
        executor.drain()
        return task
    }

    @Test func `work that is cancelled while it waits ends at once, and the others get their turns`() async throws {
        var others: [Task<Void, any Error>] = []
        try await pool.run(for: "anna") { _ in
            let cancelled = [start("bob"), start("bob")]
            others = [start("carol"), start("bob")]
            for task in cancelled {
                task.cancel()
                await #expect(throws: CancellationError.self) { try await executor.drain(for: task) }
            }
            #expect(order.accounts == [])
        }
        for task in others { try await executor.drain(for: task) }
        #expect(order.accounts == ["bob", "carol"])
        try await pool.run(for: "anna") { _ in }
    }

    @Test func `work that is cancelled before it waits does not wait`() async throws {
        try await pool.run(for: "anna") { _ in
            let task = Task(executorPreference: executor) { [pool, order] in
                withUnsafeCurrentTask { $0?.cancel() }
                try await pool.run(for: "bob") { _ in order.add("bob") }
            }
            await #expect(throws: CancellationError.self) { try await executor.drain(for: task) }
        }
        #expect(order.accounts == [])
        try await pool.run(for: "bob") { _ in }
    }
}
