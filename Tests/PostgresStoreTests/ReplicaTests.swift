import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import FirestoreProtocol
import PostgreSQL
import PostgresStore
import PostgresTestKit
import Synchronization
import SystemIO
import SystemTestKit
import Testing

/// Several stores on one database, as several servers have.
struct ReplicaTests {
    private func name(_ path: String) throws -> DocumentName {
        try DocumentName(database: TemporaryDatabase.name, path: path)
    }

    private func set(_ path: String, _ number: Int64) throws -> Write {
        Write(.update(try name(path), fields: ["n": .integer(number)]))
    }

    @Test func `a listener of one store sees the commits of all, in order, once`() async throws {
        let temporary = try TemporaryDatabase()
        let stores = [try await temporary.open(), try await temporary.open(), try await temporary.open()]
        let query = Query(parent: ParentName(TemporaryDatabase.name), collectionID: "a")
        var clients: [ListenClient] = []
        for store in stores {
            var client = ListenClient(store)
            await client.stream.add(ListenTarget(id: 1, selection: .query(query)))
            try await client.advance(untilAnswered: [1])
            clients.append(client)
        }
        // Each store commits from several tasks at once; half of the documents are contested.
        let times = try await withThrowingTaskGroup(of: [Timestamp].self) { group in
            for (index, store) in stores.enumerated() {
                for task in 0..<4 {
                    group.addTask {
                        var times: [Timestamp] = []
                        for step in 0..<25 {
                            let path = step % 2 == 0 ? "a/shared" : "a/\(index)-\(task)-\(step)"
                            times.append(try await store.commit([try set(path, Int64(step))]).commitTime)
                        }
                        return times
                    }
                }
            }
            var all: [Timestamp] = []
            for try await times in group {
                #expect(times == times.sorted())
                all += times
            }
            return all
        }
        #expect(Set(times).count == 300)
        let last = try #require(times.max())
        for (index, store) in stores.enumerated() {
            // A marker that is written again must differ, or it is no change.
            let time = Timestamp(microseconds: last.microseconds + Int64(index))
            try await clients[index].advance(past: time, marker: stores[(index + 1) % 3])
            var wanted: [String] = []
            for try await document in try await store.query(query, at: .at(clients[index].readTime)).documents {
                wanted.append(document.name.path)
                let held = clients[index].targets[1]?.documents[document.name]
                #expect(held?.updateTime == document.updateTime)
            }
            #expect(clients[index].documents(1) == wanted.sorted())
            await clients[index].stream.cancel()
        }
        for store in stores { await store.close() }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a listener learns of another store's commit by notification, and without one by reading`() async throws {
        let temporary = try TemporaryDatabase()
        let server = PostgresConfiguration(url: temporary.url)
        let peers = [try await PostgresPeers(server), try await PostgresPeers(server)]
        while peers.contains(where: { $0.count == 0 }) { await Task.yield() }
        for isNotified in [true, false] {
            var stores: [PostgresDocumentStore] = []
            for peers in peers {
                var configuration = PostgresDocumentStore.Configuration()
                configuration.peers = isNotified ? peers : nil
                // Only one of the two can be the reason why the test ends.
                configuration.pollInterval = isNotified ? .seconds(3600) : .milliseconds(200)
                stores.append(try await temporary.open(configuration))
            }
            var client = ListenClient(stores[1])
            let query = Query(parent: ParentName(TemporaryDatabase.name), collectionID: "a")
            await client.stream.add(ListenTarget(id: 1, selection: .query(query)))
            try await client.advance(untilAnswered: [1])
            var times: [Duration] = []
            for number in 0..<(isNotified ? 200 : 3) {
                let start = ContinuousClock.now
                let commit = try await stores[0].commit([try set("a/\(isNotified)", Int64(number))])
                try await client.advance(through: commit.commitTime)
                times.append(ContinuousClock.now - start)
            }
            times.sort()
            print(
                "commit and listener of the other store: p50 \(times[times.count / 2]), max \(times[times.count - 1])")
            await client.stream.cancel()
            for store in stores { await store.close() }
        }
        for peers in peers { await peers.close() }
    }

    @Test func `a precondition holds against the commits of other stores`() async throws {
        let temporary = try TemporaryDatabase()
        let stores = [try await temporary.open(), try await temporary.open()]
        _ = try await stores[0].commit([try set("a/counter", 0)])
        // Every increment reads, and is refused if another came first.
        try await withThrowingTaskGroup { group in
            for store in stores {
                for _ in 0..<3 {
                    group.addTask {
                        var left = 10
                        while left > 0 {
                            let read = try #require(try await store.get(try name("a/counter")))
                            guard case .integer(let number)? = try read.fields.decoded()["n"] else { return }
                            var write = try set("a/counter", number + 1)
                            write.precondition = .updateTime(read.updateTime)
                            if (try? await store.commit([write])) != nil { left -= 1 }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await stores[1].get(try name("a/counter"))?.fields.decoded()["n"] == .integer(60))
        for store in stores { await store.close() }
    }

    @Test func `a transaction is aborted by a commit of another store to what it has read`() async throws {
        let temporary = try TemporaryDatabase()
        let stores = [try await temporary.open(), try await temporary.open()]
        _ = try await stores[0].commit([try set("a/1", 0), try set("a/2", 0)])
        try await stores[1].catchUp()
        let transaction = try await stores[1].beginTransaction(.readWrite(retry: nil))
        _ = try await stores[1].get([try name("a/1")], at: .transaction(transaction))
        _ = try await stores[0].commit([try set("a/1", 1)])
        await #expect {
            try await stores[1].commit([try set("a/2", 5)], transaction: transaction, guarding: nil)
        } throws: {
            ($0 as? DocumentStoreError)?.code == .aborted
        }
        // One that has read something else is not.
        let other = try await stores[1].beginTransaction(.readWrite(retry: nil))
        _ = try await stores[1].get([try name("a/2")], at: .transaction(other))
        _ = try await stores[0].commit([try set("a/1", 2)])
        _ = try await stores[1].commit([try set("a/2", 6)], transaction: other, guarding: nil)
        for store in stores { await store.close() }
    }

    @Test func `a resume token of one store is valid in another, and tells what was missed`() async throws {
        let temporary = try TemporaryDatabase()
        let stores = [try await temporary.open(), try await temporary.open()]
        let query = Query(parent: ParentName(TemporaryDatabase.name), collectionID: "a")
        var first = ListenClient(stores[0])
        await first.stream.add(ListenTarget(id: 1, selection: .query(query)))
        try await first.advance(untilAnswered: [1])
        let commit = try await stores[1].commit([try set("a/1", 1)])
        try await first.advance(past: commit.commitTime, marker: stores[0])
        await first.stream.cancel()
        _ = try await stores[0].commit([try set("a/2", 2), Write(.delete(try name("a/1")))])
        let seen = first.readTime
        #expect(try await stores[0].lineage(having: seen) == stores[1].lineage(having: seen))
        let token = first.token
        #expect(stores[1].resumeTime(of: token) == stores[0].resumeTime(of: token))
        let stream = stores[1].listen(for: nil)
        await stream.add(ListenTarget(id: 1, selection: .query(query), resumption: .token(token)))
        var names: [String] = []
        reading: while let events = try await stream.next() {
            for event in events {
                switch event {
                case .changed(let document, _, _): names.append("changed \(document.name.path)")
                case .deleted(let name, _, _): names.append("deleted \(name.path)")
                case .reset: names.append("reset")
                case .current: break reading
                default: break
                }
            }
        }
        #expect(names.sorted() == ["changed a/2", "deleted a/1"])
        await stream.cancel()
        for store in stores { await store.close() }
    }

    @Test func `no commit is lost or applied twice when connections are cut`() async throws {
        let temporary = try TemporaryDatabase()
        let server = try TemporaryPostgres.shared.get()
        let store = try await temporary.open()
        _ = try await store.commit([try set("a/counter", 0)])
        let increments = 200
        try await withThrowingTaskGroup { group in
            for task in 0..<4 {
                group.addTask {
                    for step in 0..<(increments / 4) {
                        let name = try name("a/counter")
                        _ = try await store.commit([
                            Write(
                                .update(name, fields: [:]), mask: [],
                                transforms: [FieldTransform(FieldPath(key: "n"), .increment(.integer(1)))])
                        ])
                        if step % 10 == task { try server.disconnectClients(of: temporary.url) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.get(try name("a/counter"))?.fields.decoded()["n"] == .integer(Int64(increments)))
        await store.close()
    }

    @Test func `no read is older than what was acknowledged, also when the database has lost commits`() async throws {
        let temporary = try TemporaryDatabase()
        let store = try await temporary.open()
        let seen = try await store.commit([try set("a/1", 1)]).commitTime
        // As after a failover to a standby that lacks the commit.
        try PostgresConnection(PostgresConfiguration(url: temporary.url)).run(
            "UPDATE ferry.database SET clock=clock-1000")
        let query = Query(parent: ParentName(TemporaryDatabase.name), collectionID: "a")
        async let short = store.get([try name("a/1")], at: .strong).readTime
        async let long = store.query(query).readTime
        #expect(try await short >= seen)
        #expect(try await long >= seen)
        await store.close()
    }

    @Test func `a composite index of one store is maintained by others`() async throws {
        let temporary = try TemporaryDatabase()
        var configuration = PostgresDocumentStore.Configuration()
        (configuration.tuning.compositeMinimum, configuration.tuning.compositeGain) = (5, 1)
        let stores = [try await temporary.open(configuration), try await temporary.open(configuration)]
        func write(_ number: Int) throws -> Write {
            Write(
                .update(
                    try name("a/\(number)"),
                    fields: ["x": .integer(1), "y": .integer(Int64(100 - number))]))
        }
        for start in [0, 30] { _ = try await stores[1].commit(try (start..<start + 30).map(write)) }
        let query = Query(
            parent: ParentName(TemporaryDatabase.name), collectionID: "a",
            filter: .field(FieldPath(key: "x"), .equal, .integer(1)),
            orders: [Query.Order(FieldPath(key: "y"))], limit: 2)
        // The index is suggested by the query, and used once it is complete.
        while try await stores[0].plan(query).first?.properties.hasPrefix("(x") != true {
            _ = try await Self.paths(query, in: stores[0])
        }
        _ = try await stores[1].commit([try write(70)])
        #expect(try await Self.paths(query, in: stores[0]) == ["a/70", "a/59"])
        for store in stores { await store.close() }
    }

    /// A server takes another one's place that has assigned the numbers of collections in another order.
    @Test func `what a connection has found of collections is not used on the next one`() async throws {
        let temporary = try TemporaryDatabase()
        var configuration = PostgresDocumentStore.Configuration()
        configuration.readerCount = 1
        let store = try await temporary.open(configuration)
        let names = try ["a/1", "b/1"].map(name)
        _ = try await store.commit([try set("a/1", 1), try set("b/1", 2)])
        /// Returns the fields that are found by a read of one document, of several, and by a query.
        func numbers() async throws -> [Value?] {
            var found: [Document] = []
            for name in names {
                let document = try await store.get(name)
                #expect(document?.name == name)
                found += try [document].compactMap { try $0.map(Document.init) }
            }
            found += try await store.get(names, at: .strong).documents.compactMap { try $0.map(Document.init) }
            for collection in ["a", "b"] {
                let query = Query(parent: ParentName(TemporaryDatabase.name), collectionID: collection)
                for try await document in try await store.query(query).documents {
                    found.append(try Document(document))
                }
            }
            return found.map { $0.fields["n"] }
        }
        let wanted: [Value?] = [1, 2, 1, 2, 1, 2].map { .integer($0) }
        #expect(try await numbers() == wanted)
        let connection = try PostgresConnection(PostgresConfiguration(url: temporary.url))
        let known = try connection.run("SELECT collection, path FROM ferry.collection ORDER BY collection")
        #expect(known.count == 2)
        func move(_ row: Int, to path: [UInt8]) throws {
            try connection.run(
                "UPDATE ferry.collection SET path=$2 WHERE collection=$1",
                [.integer(known.integer(row, 0)), .bytes(path)])
        }
        try move(0, to: [0])
        try move(1, to: known.bytes(0, 1))
        try move(0, to: known.bytes(1, 1))
        for (old, new) in [(0, -1), (1, 0), (-1, 1)] {
            try connection.run(
                "UPDATE ferry.document SET collection=$2 WHERE collection=$1",
                [old, new].map { .integer($0 < 0 ? -1 : known.integer($0, 0)) })
        }
        try TemporaryPostgres.shared.get().disconnectClients(of: temporary.url)
        #expect(try await numbers() == wanted)
        var write = try set("a/1", 10)
        write.precondition = .updateTime(try #require(try await store.get(names[0])).updateTime)
        _ = try await store.commit([write])
        #expect(try await numbers() == [10, 2, 10, 2, 10, 2].map { .integer($0) })
        await store.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a listener does not share a read of the log that has begun before the last commit`() async throws {
        let temporary = try TemporaryDatabase()
        var configuration = PostgresDocumentStore.Configuration()
        configuration.pollInterval = .seconds(3600)
        let stores = [try await temporary.open(configuration), try await temporary.open(configuration)]
        _ = try await stores[0].commit([try set("a/1", 1)])
        // The second store reads the log, but must wait for the name of the collection.
        let other = try PostgresConnection(PostgresConfiguration(url: temporary.url))
        try other.run("BEGIN")
        try other.run("LOCK TABLE ferry.collection IN ACCESS EXCLUSIVE MODE")
        async let reading: Void = stores[1].catchUp()
        try await waitForLock(of: temporary)
        _ = try await stores[0].commit([try set("a/2", 1)])
        let executor = HandExecutor()
        let names = try ["a/1", "a/2"].map(name)
        let listening = Task(executorPreference: executor) {
            var client = ListenClient(stores[1])
            await client.stream.add(ListenTarget(id: 1, selection: .documents(names)))
            try await client.advance(untilAnswered: [1])
            await client.stream.cancel()
            return client.documents(1)
        }
        executor.drain()
        try other.run("COMMIT")
        try await reading
        #expect(try await executor.drain(for: listening) == ["a/1", "a/2"])
        for store in stores { await store.close() }
    }

    /// Waits until a statement waits for a lock.
    private func waitForLock(of database: TemporaryDatabase) async throws {
        let connection = try PostgresConnection(PostgresConfiguration(url: database.url))
        let waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type='Lock' AND datname=current_database()"
        while try connection.run(waiting).count == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Thousands of listeners begin at once, while the server that they wait for commits.
    @Test(.timeLimit(.minutes(1)))
    func `those that wait to know the commits of other stores share a read of the log`() async throws {
        let temporary = try TemporaryDatabase()
        let looks = Mutex(0)
        var configuration = PostgresDocumentStore.Configuration()
        configuration.pollInterval = .seconds(3600)
        let now = configuration.environment.now
        // The writer notes the time of each read.
        configuration.environment.now = {
            looks.withLock { $0 += 1 }
            return now()
        }
        let store = try await temporary.open(configuration)
        let other = try PostgresConnection(PostgresConfiguration(url: temporary.url))
        try other.run("BEGIN")
        try other.run("SELECT 1 FROM ferry.database FOR UPDATE")
        async let commit = store.commit([try set("a/1", 1)])
        try await waitForLock(of: temporary)
        let before = looks.withLock { $0 }
        let executor = HandExecutor()
        let waiting = (0..<500).map { _ in Task(executorPreference: executor) { try await store.catchUp() } }
        executor.drain()
        try other.run("COMMIT")
        _ = try await commit
        for task in waiting { try await executor.drain(for: task) }
        #expect(looks.withLock { $0 } - before < 20)
        await store.close()
    }

    private static func paths(_ query: Query, in store: any DocumentStore) async throws -> [String] {
        var found: [String] = []
        for try await document in try await store.query(query).documents { found.append(document.name.path) }
        return found
    }
}
