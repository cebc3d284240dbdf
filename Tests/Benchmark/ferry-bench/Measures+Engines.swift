import DocumentModel
import GRPCClient
import PostgresTestKit

/// PostgreSQL beside SQLite, and what a commit on PostgreSQL depends on. The PostgreSQL server is a
/// private one on this machine, which syncs to the disk as SQLite does.
extension Bench {
    /// The number of times that each engine's rate is taken, in turns.
    private static let turns = 3

    func measureEngines() async throws {
        let postgres = try TemporaryPostgres()
        try await withServer { embedded in
            try await withServer(database: try postgres.makeDatabase()) { server in
                let count = 10_000
                try await fill(0..<count, on: embedded)
                try await fill(0..<count, on: server)
                try await compare("creates, \(clients) clients of as many users", "≥ 0.4", embedded, server) {
                    try await self.createRate(on: $0, from: $1)
                }
                let workers = clients
                try await compare("gets by name, \(clients) clients, of \(count)", "≥ 0.5", embedded, server) {
                    server, _ in
                    try await rate(of: workers, on: server, for: self.duration) { client, worker, round in
                        try client.get(try Self.name((round * workers + worker) * 7919 % count))
                    }
                }
            }
        }
        try await measureReplicas(postgres)
        try await measureGrowth(postgres)
    }

    /// Prints the medians of both rates, and their ratio.
    private func compare(
        _ what: String, _ bar: String, _ embedded: LoadServer, _ server: LoadServer,
        _ measure: (LoadServer, _ first: Int) async throws -> Double
    ) async throws {
        var rates: [(sqlite: Double, postgres: Double)] = []
        for turn in 1...Self.turns {
            let sqlite = try await measure(embedded, turn * 20_000_000)
            rates.append((sqlite, try await measure(server, turn * 20_000_000)))
        }
        let middle = (
            rates.map(\.sqlite).sorted()[Self.turns / 2], rates.map(\.postgres).sorted()[Self.turns / 2]
        )
        say(
            what,
            "SQLite \(middle.0.text())/s, PostgreSQL \(middle.1.text())/s: ratio \((middle.1 / middle.0).text(2))", bar)
    }

    /// Returns the number of documents created in a second by clients with a user each.
    private func createRate(on server: LoadServer, from first: Int) async throws -> Double {
        let workers = clients
        return try await rate(of: workers, on: server, for: duration) { client, worker, round in
            try client.commit([try Self.create(first + round * Self.users + worker)])
        }
    }

    /// Measures how soon a listener at one server is notified of a commit at another one.
    private func measureReplicas(_ postgres: TemporaryPostgres) async throws {
        let url = try postgres.makeDatabase()
        try await withServer(database: url) { first in
            try await withServer(database: url) { second in
                let listener = try await LoadClient(second.address).listen(Self.newest(of: 1))
                try await listener.becomeCurrent()
                let (client, latencies) = (LoadClient(first.address), Latencies())
                func change(_ round: Int) async throws {
                    async let change: Void = listener.change()
                    try await client.commit([try Self.create(round * Self.users + 1)])
                    try await change
                }
                // Until the servers know each other, changes are found by polls.
                for round in 0..<20 { try await change(round) }
                for round in 20..<320 { try await latencies.time { try await change(round) } }
                say(
                    "commit → listener at the other server",
                    "p50 \(latencies.percentile(0.5).text(2)) ms, p99 \(latencies.percentile(0.99).text(2)) ms",
                    "p50 ≤ 10 ms")
                listener.call.cancel()
            }
        }
    }

    /// Measures that a commit costs the same regardless of the number of documents, and of idle
    /// listeners.
    private func measureGrowth(_ postgres: TemporaryPostgres) async throws {
        try await withServer(database: try postgres.makeDatabase()) { server in
            var stored = 0
            for (round, count) in [documents / 100, documents / 10].enumerated() {
                let speed = try await fill(stored..<count, on: server)
                stored = count
                let cost = try await self.cost(on: server, from: (round + 1) * 100_000_000)
                say(
                    "PostgreSQL: creates beside \(Double(count).text()) documents",
                    "\(cost); filled at \(speed.text())/s", "the same")
            }
        }
        for count in [10, idle] {
            try await withServer(database: try postgres.makeDatabase()) { server in
                let listeners = try await open(count, on: server) { Self.newest(of: $0 + Self.users) }
                let before = server.memory
                say(
                    "PostgreSQL: creates beside \(Double(count).text()) idle listeners",
                    "\(try await self.cost(on: server, from: 0)); \(before.text()) MiB resident", "the same")
                for listener in listeners { listener.call.cancel() }
            }
        }
    }

    private func cost(on server: LoadServer, from first: Int) async throws -> String {
        let before = server.processorTime
        let start = ContinuousClock.now
        let speed = try await createRate(on: server, from: first)
        let calls = speed * (ContinuousClock.now - start).inSeconds
        let used = (server.processorTime - before) / calls * 1_000_000
        return "\(speed.text())/s, \(used.text()) µs of the server's processor each"
    }
}
