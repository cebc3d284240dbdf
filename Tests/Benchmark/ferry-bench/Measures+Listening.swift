import DocumentModel
import GRPCClient
import GRPCProtocol

extension Bench {
    static func tasks(of user: Int) -> Query {
        Query(
            parent: ParentName(database), collectionID: "tasks",
            filter: .field(FieldPath(key: "userId"), .equal, .string("user-\(user)")))
    }

    private static func touch(_ number: Int, user: Int) throws -> Write {
        var fields = fields(number)
        fields["userId"] = .string("user-\(user)")
        return Write(.update(try name(number), fields: fields))
    }

    /// Opens listeners, about 50 for each connection, and waits until all are current.
    func open(
        _ count: Int, on server: LoadServer, _ query: @escaping @Sendable (Int) -> Query
    ) async throws -> [Listener] {
        let connections = (0..<(count + 49) / 50).map { _ in LoadClient(server.address) }
        return try await withThrowingTaskGroup(of: (Int, [Listener]).self) { group in
            for (place, connection) in connections.enumerated() {
                group.addTask {
                    var listeners: [Listener] = []
                    for number in place * 50..<min(count, place * 50 + 50) {
                        let listener = try await connection.listen(query(number))
                        try await listener.becomeCurrent()
                        listeners.append(listener)
                    }
                    return (place, listeners)
                }
            }
            var parts: [Int: [Listener]] = [:]
            for try await (place, part) in group { parts[place] = part }
            return connections.indices.flatMap { parts[$0] ?? [] }
        }
    }

    func measureListeners() async throws {
        try await withServer { server in
            let listeners = try await open(self.listeners, on: server) { Self.tasks(of: $0) }
            let latencies = Latencies()
            let client = LoadClient(server.address)
            for round in 0..<300 {
                let user = round * 37 % self.listeners
                try await latencies.time {
                    async let told: Void = listeners[user].change()
                    try await client.commit([try Self.touch(round, user: user)])
                    try await told
                }
            }
            say(
                "commit → told, \(self.listeners) listeners of as many users",
                "p50 \(latencies.percentile(0.5).text(2)) ms, p99 \(latencies.percentile(0.99).text(2)) ms",
                "p50 ≤ 5 ms")
            for listener in listeners { listener.call.cancel() }
        }
        try await withServer { server in
            let listeners = try await open(self.listeners, on: server) { _ in Self.tasks(of: 1) }
            let latencies = Latencies()
            let client = LoadClient(server.address)
            for round in 0..<20 {
                try await latencies.time {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for listener in listeners { group.addTask { try await listener.change() } }
                        try await client.commit([try Self.touch(round, user: 1)])
                        try await group.waitForAll()
                    }
                }
            }
            say(
                "one commit → told to the last of \(self.listeners) listeners",
                "p50 \(latencies.percentile(0.5).text(1)) ms, worst \(latencies.percentile(1).text(1)) ms", "≤ 150 ms")
            for listener in listeners { listener.call.cancel() }
        }
        try await measureIdle()
    }

    /// Measures that a commit costs the same regardless of the number of listeners to other
    /// documents.
    private func measureIdle() async throws {
        for count in [10, idle] {
            try await withServer { server in
                let listeners = try await open(count, on: server) { Self.tasks(of: $0 + Self.users) }
                let workers = clients
                let before = server.processorTime
                let speed = try await rate(of: workers, on: server, for: duration) { client, worker, round in
                    try client.commit([try Self.create(round * workers + worker)])
                }
                let used = (server.processorTime - before) / (speed * duration.inSeconds) * 1_000_000
                say(
                    "creates beside \(Double(count).text()) idle listeners",
                    "\(speed.text())/s, \(used.text()) µs of the server's processor each", "the same")
                for listener in listeners { listener.call.cancel() }
            }
        }
    }

    func measureInitial() async throws {
        try await withServer { server in
            try await fill(0..<initial, on: server)
            let everything = Query(parent: ParentName(Self.database), collectionID: "tasks")
            let client = LoadClient(server.address)
            _ = try await client.query(Self.newest(of: 1))
            let before = server.memory
            server.forgetPeak()
            let start = ContinuousClock.now
            let listener = try await client.listen(everything)
            let count = try await listener.becomeCurrent().count
            guard count == initial else { throw Failure(description: "\(count) documents came, not \(initial)") }
            let speed = Double(count) / (ContinuousClock.now - start).inSeconds
            say("first listen of \(Double(count).text()) documents", "\(speed.text())/s", "≥ 40,000/s")
            say(
                "resident before, and at most during it", "\(before.text()) MiB, \(server.peakMemory.text()) MiB",
                "does not grow")
            listener.call.cancel()
        }
    }
}
