import DocumentModel
import GRPCClient
import PostgresTestKit

/// Many machines: a connection with a listener each, which all come back at once.
extension Bench {
    /// The number of connections that are opened at a time before the storm.
    private static let openers = 64

    func measureStorm() async throws {
        let postgres = try TemporaryPostgres()
        try await measureStorm("SQLite", database: nil)
        try await measureStorm("PostgreSQL", database: try postgres.makeDatabase())
    }

    private func measureStorm(_ engine: String, database: String?) async throws {
        try await withServer(database: database) { server in
            try await fill(0..<10 * Self.users, on: server)
            // A few listeners first, for what is allocated only once.
            let first = try await machines(0..<Self.openers, on: server, atOnce: Self.openers)
            let before = server.memory
            let start = ContinuousClock.now
            var listeners = try await machines(Self.openers..<idle, on: server, atOnce: Self.openers)
            let (opened, memory) = (ContinuousClock.now - start, server.memory)
            say(
                "\(engine): \(Double(idle).text()) machines with a connection and a listener each",
                "\(((memory - before) * 1024 / Double(idle - Self.openers)).text(1)) KiB each, opened in \(opened.inSeconds.text(1)) s",
                "≤ 25 KiB")
            for listener in first + listeners { listener.call.cancel() }
            listeners = []
            try await measureReturn(engine, server)
        }
    }

    /// Measures how long all machines take to be current again if none waits for another, while a client goes on.
    private func measureReturn(_ engine: String, _ server: LoadServer) async throws {
        let latencies = Latencies()
        let client = LoadClient(server.address)
        let other = Task {
            var round = 0
            while !Task.isCancelled {
                let number = 50_000_000 + round
                try await latencies.time { try await client.commit([try Self.create(number)]) }
                round += 1
            }
        }
        let start = ContinuousClock.now
        let listeners = try await machines(0..<idle, on: server, atOnce: idle)
        let took = ContinuousClock.now - start
        other.cancel()
        try await other.value
        say(
            "\(engine): all of them come back at once",
            "\(took.inSeconds.text(1)) s; \(server.peakMemory.text()) MiB at most",
            "≤ 60 s")
        say(
            "\(engine): a commit of another client meanwhile",
            "p50 \(latencies.percentile(0.5).text(1)) ms, worst \(latencies.percentile(1).text(1)) ms", "no errors")
        for listener in listeners { listener.call.cancel() }
    }

    /// Opens a connection and a listener for each number, and returns when all are current.
    private func machines(_ numbers: Range<Int>, on server: LoadServer, atOnce: Int) async throws -> [Listener] {
        let address = server.address
        return try await withThrowingTaskGroup(of: Listener.self) { group in
            var (listeners, left): ([Listener], _) = ([], numbers)
            while listeners.count < numbers.count {
                while let number = left.first, left.lowerBound - numbers.lowerBound - listeners.count < atOnce {
                    left.removeFirst()
                    group.addTask {
                        let listener = try await LoadClient(address).listen(Self.tasks(of: number % Self.users))
                        _ = try await listener.becomeCurrent()
                        return listener
                    }
                }
                if let listener = try await group.next() { listeners.append(listener) }
            }
            return listeners
        }
    }
}
