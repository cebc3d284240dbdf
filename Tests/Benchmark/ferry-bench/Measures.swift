import DocumentModel

extension Bench {
    // MARK: Commits

    func measureCommits() async throws {
        try await withServer { server in
            let serial = try await commitRate(of: 1, on: server, from: 0)
            say("durable creates, 1 client", "\(serial.text())/s")
            let creates = try await withCost(on: server) {
                try await commitRate(of: clients, on: server, from: 10_000_000)
            }
            say("durable creates, \(clients) clients", creates, "≥ 8,000/s")
            let updates = try await withCost(on: server) { try await updateRate(on: server) }
            say("durable updates of one field, \(clients) clients", updates)
            say("disk, MiB", server.diskUse.text())
        }
        try await withServer(slowingSyncsBy: 10) { server in
            let serial = try await commitRate(of: 1, on: server, from: 0)
            let all = try await commitRate(of: clients, on: server, from: 10_000_000)
            say("syncs 10 ms slower: durable creates, 1 client", "\(serial.text())/s")
            say(
                "syncs 10 ms slower: durable creates, \(clients) clients",
                "\(all.text())/s, \((all / serial).text(1)) times as many", "≥ 30 times")
        }
    }

    /// Returns a rate, and the processor time of the server and of this program for each call.
    ///
    /// On a machine with other load, the rate means little, but the processor time is meaningful.
    private func withCost(on server: LoadServer, _ body: () async throws -> Double) async throws -> String {
        let start = ContinuousClock.now
        let (before, ours) = (server.processorTime, LoadServer.ownProcessorTime)
        let rate = try await body()
        let calls = rate * (ContinuousClock.now - start).inSeconds / 1_000_000
        let (used, own) = (server.processorTime - before, LoadServer.ownProcessorTime - ours)
        return "\(rate.text())/s; processor µs each: server \((used / calls).text()), clients \((own / calls).text())"
    }

    private func commitRate(of workers: Int, on server: LoadServer, from first: Int) async throws -> Double {
        try await rate(of: workers, on: server, for: duration) { client, worker, round in
            try client.commit([try Self.create(first + round * workers + worker)])
        }
    }

    private func updateRate(on server: LoadServer) async throws -> Double {
        let (workers, first) = (clients, 10_000_000)
        return try await rate(of: workers, on: server, for: duration) { client, worker, round in
            let name = try Self.name(first + round % 50 * workers + worker)
            let write = Write(
                .update(name, fields: ["priority": .integer(Int64(round))]), mask: [FieldPath(key: "priority")])
            try client.commit([write])
        }
    }

    // MARK: Gets

    func measureGets() async throws {
        try await withServer { server in
            let count = min(documents, 100_000)
            try await fill(0..<count, on: server)
            try await server.rest()
            let workers = clients
            var full = 0.0
            let gets = try await withCost(on: server) {
                full = try await rate(of: workers, on: server, for: duration) { client, worker, round in
                    try client.get(try Self.name((round * workers + worker) * 7919 % count))
                }
                return full
            }
            say("gets by name, \(workers) clients, of \(count)", gets, "≥ 12,000/s")
            for (rate, bar) in [(6_000, "p99 ≤ 5 ms"), (full / 2, "")] {
                var latencies = Latencies()
                let cost = try await withCost(on: server) {
                    latencies = try await timetable(
                        Int(rate * duration.inSeconds), every: .seconds(1 / rate), of: workers, on: server
                    ) { client, call in try client.get(try Self.name(call * 7919 % count)) }
                    return rate
                }
                let (middle, slow) = (latencies.percentile(0.5).text(2), latencies.percentile(0.99).text(2))
                say("gets by the timetable", "p50 \(middle) ms, p99 \(slow) ms at \(cost)", bar)
            }
        }
    }

    // MARK: Queries

    /// Returns a query for the 20 newest tasks of a user.
    static func newest(of user: Int) -> Query {
        Query(
            parent: ParentName(database), collectionID: "tasks",
            filter: .field(FieldPath(key: "userId"), .equal, .string("user-\(user)")),
            orders: [Query.Order(FieldPath(key: "createdAt"), descending: true)], limit: 20)
    }

    func measureQueries(thenMemory: Bool) async throws {
        try await withServer { server in
            var stored = 0
            for count in [documents / 100, documents / 10, documents] {
                let before = server.written
                let speed = try await fill(stored..<count, on: server)
                stored = count
                say(
                    "filling up to \(Double(count).text()) documents, 400 a commit",
                    "\(speed.text())/s; \((server.written - before).text()) MiB written")
                let client = LoadClient(server.address)
                let early = Latencies()
                let late = Latencies()
                // The store may learn from the queries that it sees, so its first answers are
                // counted separately.
                for round in 0..<300 {
                    let expected = min(20, count / Self.users)
                    let found = try await (round < 20 ? early : late).time {
                        try await client.query(Self.newest(of: round * 37 % Self.users))
                    }
                    guard found == expected else { throw Failure(description: "\(found) results, not \(expected)") }
                    if round == 19 { try await Task.sleep(for: .seconds(Double(count) / 10_000)) }
                }
                say(
                    "equality and order, 20 of \(Double(count).text())",
                    "p50 \(late.percentile(0.5).text(2)) ms, p99 \(late.percentile(0.99).text(2)) ms; "
                        + "first 20: p50 \(early.percentile(0.5).text(2)) ms", "p50 ≤ 3 ms")
            }
            if thenMemory { try await sayMemory(of: server) }
        }
    }

    // MARK: Memory

    func measureMemory() async throws {
        try await withServer { server in
            try await fill(0..<documents, on: server)
            try await sayMemory(of: server)
        }
    }

    private func sayMemory(of server: LoadServer) async throws {
        say(
            "resident, \(Double(documents).text()) documents, after the load", "\(server.memory.text()) MiB",
            "≤ 100 MiB")
        say("disk, MiB", server.diskUse.text())
        try await server.restart()
        _ = try await LoadClient(server.address).query(Self.newest(of: 1))
        say("resident, after a restart", "\(server.memory.text()) MiB", "≤ 100 MiB")
    }
}
