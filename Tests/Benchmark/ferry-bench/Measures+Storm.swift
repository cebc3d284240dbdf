import DocumentModel
import GRPCClient
import PostgresTestKit
import Synchronization

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
            let others = try await machines(Self.openers..<idle, on: server, atOnce: Self.openers)
            let opened = ContinuousClock.now - start
            try await server.rest()
            let memory = server.memory
            say(
                "\(engine): \(Double(idle).text()) machines with a connection and a listener each",
                "\(((memory - before) * 1024 / Double(idle - Self.openers)).text(1)) KiB each, opened in \(opened.inSeconds.text(1)) s",
                "≤ 25 KiB")
            for machine in first + others { machine.listener.call.cancel() }
            let tokens = try await measureReturn("\(engine): all come back at once", server)
            _ = try await measureReturn("\(engine): all go on at once from their last times", server, from: tokens)
        }
    }

    /// Measures how long all machines take to be current again if none waits for another, while a client goes on, and
    /// returns their resume tokens.
    private func measureReturn(
        _ what: String, _ server: LoadServer, from tokens: [Int: [UInt8]] = [:]
    ) async throws -> [Int: [UInt8]] {
        // The connections before must have ended, or the server's limit refuses some of the new ones.
        try await server.rest()
        let latencies = Latencies()
        let client = LoadClient(server.address)
        let isOver = Atomic(false)
        let first = tokens.isEmpty ? 50_000_000 : 60_000_000
        let other = Task {
            var round = 0
            while !isOver.load(ordering: .relaxed) {
                let write = try Self.create(first + round)
                try await latencies.time { try await client.commit([write]) }
                round += 1
            }
            return round
        }
        let start = ContinuousClock.now
        let machines = try await machines(0..<idle, on: server, atOnce: idle, from: tokens)
        let took = ContinuousClock.now - start
        isOver.store(true, ordering: .relaxed)
        say(
            what, "\(took.inSeconds.text(1)) s; \(server.peakMemory.text()) MiB at most", "≤ 60 s")
        say(
            "meanwhile, commits of another client",
            "\(Double(try await other.value).text()): p50 \(latencies.percentile(0.5).text(1)) ms, worst \(latencies.percentile(1).text(1)) ms",
            "no errors")
        for machine in machines { machine.listener.call.cancel() }
        return Dictionary(uniqueKeysWithValues: machines.map { ($0.number, $0.token) })
    }

    /// A connection with a listener, and the token of its last boundary.
    private struct Machine {
        let number: Int
        let listener: Listener
        let token: [UInt8]
    }

    /// Opens a connection and a listener for each number, and returns when all are current.
    private func machines(
        _ numbers: Range<Int>, on server: LoadServer, atOnce: Int, from tokens: [Int: [UInt8]] = [:]
    ) async throws -> [Machine] {
        let address = server.address
        return try await withThrowingTaskGroup(of: Machine.self) { group in
            var (machines, left): ([Machine], _) = ([], numbers)
            while machines.count < numbers.count {
                while let number = left.first, left.lowerBound - numbers.lowerBound - machines.count < atOnce {
                    left.removeFirst()
                    group.addTask {
                        let tasks = Self.tasks(of: number % Self.users)
                        let listener = try await LoadClient(address).listen(tasks, from: tokens[number])
                        return Machine(
                            number: number, listener: listener, token: try await listener.becomeCurrent().token)
                    }
                }
                if let machine = try await group.next() { machines.append(machine) }
            }
            return machines
        }
    }
}
