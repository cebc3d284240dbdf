import DocumentModel
import FerryKitTestSupport
import SystemTestKit
import Testing

@testable import DocumentClient

@Suite(.timeLimit(.minutes(1))) struct DocumentClientTests {
    let remote = ServedRemote()

    func makeClient(_ change: (inout ClientOptions) -> Void = { _ in }) throws -> DocumentDatabase {
        var options = ClientOptions()
        change(&options)
        return try DocumentDatabase(path: ":memory:", database: testDatabase, remote: remote, options: options)
    }

    func snapshot(
        of sequence: QuerySnapshots, where condition: (QuerySnapshot) -> Bool
    ) async throws -> QuerySnapshot {
        for try await snapshot in sequence where condition(snapshot) { return snapshot }
        throw RemoteError(.transient, "the snapshots ended")
    }

    @Test func `a local write shows at once as pending, and again when the remote has it`() async throws {
        let client = try makeClient()
        let task = try await client.add(["title": .string("milk")], to: "tasks")
        var snapshots = client.snapshots(of: tasksQuery).makeAsyncIterator()
        let first = try #require(try await snapshots.next())
        #expect(first.documents.map(\.name) == [task])
        #expect(first.hasPendingWrites && first.isFromCache)
        #expect(first.changes.map(\.kind) == [.added])
        try await running(client) {
            var last = first
            while last.hasPendingWrites || last.isFromCache { last = try #require(try await snapshots.next()) }
            #expect(last.documents.first?.updateTime != nil)
        }
        #expect(remote.with { $0.documents.count } == 1)
    }

    @Test func `a change on one client reaches the other`() async throws {
        let (one, two) = (try makeClient(), try makeClient())
        try await running(one, two) {
            let seen = two.snapshots(of: tasksQuery)
            let task = try await one.add(["n": .integer(1)], to: "tasks")
            let snapshot = try await snapshot(of: seen) { $0.documents.count == 1 }
            #expect(snapshot.documents.first?.name == task)
            try await two.update(task, [try path("n"): .integer(2)])
            _ = try await self.snapshot(of: one.snapshots(of: task)) {
                $0.documents.first?["n"] == .integer(2) && !$0.isFromCache
            }
            try await one.delete(task)
            _ = try await self.snapshot(of: seen) { $0.documents.isEmpty }
        }
    }

    @Test func `a query that is forgotten takes its documents with it, but those that others have`() async throws {
        let (one, two) = (try makeClient(), try makeClient())
        let parent = ParentName(testDatabase)
        let high = Query(
            parent: parent, collectionID: "tasks", filter: .field(try path("n"), .greaterThan, .integer(1)))
        let odd = Query(parent: parent, collectionID: "tasks", filter: .field(try path("odd"), .equal, .boolean(true)))
        try await running(one, two) {
            try await two.keep([high, odd])
            for number in 1...4 {
                try await one.set(
                    try name("tasks/\(number)"), ["n": .integer(Int64(number)), "odd": .boolean(number % 2 == 1)])
            }
            _ = try await snapshot(of: two.snapshots(of: tasksQuery, from: .cache)) { $0.documents.count == 4 }
            try await two.release([high])
            try await two.transaction { transaction in
                // The mutation is not sent before the transaction ends.
                try transaction.append(.update(try name("tasks/4"), [try path("n"): .integer(5)]))
                try transaction.giveUp(try name("tasks/4"))
                try transaction.forget(high)
            }
            #expect(try await two.documents(tasksQuery).map(\.name.id).sorted() == ["1", "3"])
            #expect(try await two.pendingMutations().isEmpty)
        }
    }

    @Test func `a collection is read part by part as it is read whole`() async throws {
        let client = try makeClient()
        for number in 0..<25 {
            try await client.set(try name("tasks/\(number)"), ["n": .integer(Int64(number)), "m": true])
            try await client.set(try name("tasks/\(number)/history/h"), [:])
        }
        try await client.delete(try name("tasks/7"))
        let few = Query(
            parent: ParentName(testDatabase), collectionID: "tasks",
            filter: .field(try path("n"), .greaterThanOrEqual, .integer(5)))
        let parts = try await client.reading { transaction in
            var (parts, last): ([[String]], Int64?) = ([], nil)
            while let part = try transaction.documents(few, only: ["m"], after: last, limit: 4) {
                // Fields that the query needs are read as well.
                #expect(part.found.allSatisfy { $0["m"] == true && $0["n"] != nil })
                parts.append(part.found.map(\.name.id))
                last = part.last
            }
            return parts
        }
        #expect(parts.allSatisfy { $0.count <= 4 } && parts.count >= 6)
        #expect(parts.flatMap { $0 }.sorted() == (try await client.documents(few)).map(\.name.id).sorted())
        let group = Query(parent: ParentName(testDatabase), collectionID: "history", allDescendants: true)
        #expect(try await client.documents(group).count == 25)
    }

    @Test func `a document that another client holds is not taken for a lost network`() async throws {
        let client = try makeClient()
        let (held, free) = (try name("tasks/held"), try name("tasks/free"))
        remote.with { remote in remote.refuses = { $0.name == held ? .contention : nil } }
        try await running(client) {
            try await client.set(held, ["n": .integer(1)])
            try await client.set(free, ["n": .integer(1)])
            for try await snapshot in client.snapshots(of: free) where !snapshot.hasPendingWrites { break }
            #expect(await client.currentStatus.connection == .online)
            #expect(await client.currentStatus.pendingCount == 1)
            remote.with { remote in remote.refuses = { _ in nil } }
            await client.networkChanged()
            for try await snapshot in client.snapshots(of: held) where !snapshot.hasPendingWrites { break }
        }
        #expect(remote.with { $0.documents.count } == 2)
    }

    @Test func `offline writes are sent when the network is back`() async throws {
        let client = try makeClient()
        remote.fail(.transient)
        try await running(client) {
            for number in 0..<20 { try await client.set(try name("tasks/\(number)"), [:]) }
            for await status in await client.statuses {
                if case .offline = status.connection, status.pendingCount == 20 { break }
            }
            remote.fail(nil)
            await client.networkChanged()
            try await client.waitForPendingWrites()
            #expect(await client.currentStatus.connection == .online)
        }
        #expect(remote.with { $0.documents.count } == 20)
    }

    @Test func `without a sign-in the queue is kept, and sent after it`() async throws {
        let client = try makeClient()
        remote.fail(.unauthenticated)
        try await running(client) {
            try await client.set(try name("tasks/a"), [:])
            for await status in await client.statuses where status.connection == .needsSignIn { break }
            remote.fail(nil)
            await client.signedIn()
            try await client.waitForPendingWrites()
        }
        #expect(remote.with { $0.documents.count } == 1)
    }

    @Test func `a lost answer of a commit does no harm`() async throws {
        let client = try makeClient()
        try await running(client) {
            try await client.set(try name("tasks/a"), ["n": .integer(1)])
            try await client.waitForPendingWrites()
            remote.loseAnswers(true)
            try await client.merge(
                try name("tasks/a"), [:], transforms: [FieldTransform(try path("n"), .increment(.integer(1)))])
            for await status in await client.statuses {
                if case .offline = status.connection { break }
            }
            remote.loseAnswers(false)
            await client.networkChanged()
            try await client.waitForPendingWrites()
        }
        #expect(try remote.with { $0.documents[try name("tasks/a")]?.fields } == ["n": .integer(2)])
    }

    @Test func `the feed of changes hands each change out until it is acknowledged`() async throws {
        let client = try makeClient()
        try await client.keep([tasksQuery])
        _ = try remote.with { try $0.commit([Write(.update(try name("tasks/a"), fields: [:]))]) }
        try await running(client) {
            try await client.waitForChanges(after: 0)
            let first = try await client.transaction { try $0.changes(for: "folder") }
            #expect(first.map(\.name.id) == ["a"])
            let again = try await client.transaction { transaction in
                let changes = try transaction.changes(for: "folder")
                try transaction.acknowledge(through: changes.last?.sequence ?? 0, for: "folder")
                return changes
            }
            #expect(again == first)
            #expect(try await client.transaction { try $0.changes(for: "folder") }.isEmpty)
        }
    }

    @Test func `a state file of another remote changes nothing until it is adopted, and then unites`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/state"
        let (task, other) = (try name("tasks/a"), try name("tasks/b"))
        var options = ClientOptions()
        options.remoteIdentity = "old"
        let before = try DocumentDatabase(path: path, database: testDatabase, remote: remote, options: options)
        try await running(before) {
            try await before.set(task, ["n": .integer(1)])
            try await before.waitForPendingWrites()
        }
        await before.close()
        let newRemote = ServedRemote()
        _ = try newRemote.with { try $0.commit([Write(.update(other, fields: [:]))]) }
        options.remoteIdentity = "new"
        let client = try DocumentDatabase(path: path, database: testDatabase, remote: newRemote, options: options)
        guard case .otherRemote = await client.currentStatus.connection else {
            Issue.record("expected otherRemote")
            return
        }
        try await running(client) {
            try await client.adoptRemote()
            try await client.waitForPendingWrites()
            _ = try await snapshot(of: client.snapshots(of: tasksQuery)) { $0.documents.count == 2 }
        }
        #expect(newRemote.with { Set($0.documents.keys) } == [task, other])
        await client.close()
    }

    @Test func `values displaced by a pending change are sent to another remote too`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/state"
        let (task, gone) = (try name("tasks/a"), try name("tasks/b"))
        let kept = [try name("kept/x"), try name("kept/y")]
        var options = ClientOptions()
        options.remoteIdentity = "old"
        let before = try DocumentDatabase(path: path, database: testDatabase, remote: remote, options: options)
        try await running(before) {
            try await before.set(gone, ["n": .integer(1)])
            try await before.waitForPendingWrites()
        }
        try await before.transaction { transaction in
            for (name, kind, kept) in [(task, Mutation.Kind.set, kept[0]), (gone, .delete, kept[1])] {
                let companion = Write(.update(kept, fields: ["n": .integer(2)]))
                try transaction.append(Mutation(kind, name, companions: [companion]))
            }
        }
        await before.close()
        let newRemote = ServedRemote()
        options.remoteIdentity = "new"
        let client = try DocumentDatabase(path: path, database: testDatabase, remote: newRemote, options: options)
        try await running(client) {
            try await client.adoptRemote()
            try await client.waitForPendingWrites()
        }
        #expect(newRemote.with { Set($0.documents.keys) } == Set([task] + kept))
        await client.close()
    }

    @Test func `a remote that was put back changes nothing until it is adopted, and then unites`() async throws {
        let client = try makeClient()
        try await client.keep([tasksQuery])
        let (old, new, offline) = (try name("tasks/a"), try name("tasks/b"), try name("tasks/c"))
        remote.set(lineage: "one")
        try await running(client) {
            for task in [old, new] {
                try await client.set(task, ["n": .integer(1)])
                try await client.waitForPendingWrites()
            }
            remote.set(lineage: "one")
            _ = try await snapshot(of: client.snapshots(of: tasksQuery)) { !$0.isFromCache }
            // The backup lacks the newer of the two commits.
            remote.fail(.transient)
            _ = try remote.with { try $0.commit([Write(.delete(new))]) }
            remote.with { $0.forgetHistory() }
            remote.set(lineage: "two")
            remote.fail(nil)
            await client.networkChanged()
            for await status in await client.statuses { if case .otherRemote = status.connection { break } }
            try await client.set(offline, ["n": .integer(1)])
            let count = remote.with { $0.commitCount }
            #expect(try await client.document(new).exists)
            await client.networkChanged()
            #expect(remote.with { $0.commitCount } == count)
            try await client.adoptRemote()
            try await client.waitForPendingWrites()
            _ = try await snapshot(of: client.snapshots(of: tasksQuery)) { !$0.isFromCache && $0.documents.count == 3 }
        }
        #expect(remote.with { Set($0.documents.keys) } == [old, new, offline])
    }

    @Test(arguments: [1, 5])
    func `of a copy and another remote's document the later version counts`(edits: Int) async throws {
        let directory = try TemporaryDirectory()
        let task = try name("tasks/a")
        let newRemote = ServedRemote()
        for (remote, count, origin) in [(remote, 3, "old"), (newRemote, edits, "new")] {
            for number in 1...count {
                let write = Write(.update(task, fields: ["of": .string(origin), "n": .integer(Int64(number))]))
                _ = try remote.with { try $0.commit([write]) }
            }
        }
        var options = ClientOptions()
        for identity in ["old", "new"] {
            options.remoteIdentity = identity
            let client = try DocumentDatabase(
                path: directory.path + "/state", database: testDatabase, remote: identity == "old" ? remote : newRemote,
                options: options)
            try await running(client) {
                if identity == "new" {
                    try await client.adoptRemote()
                    try await client.waitForPendingWrites()
                }
                _ = try await snapshot(of: client.snapshots(of: tasksQuery)) {
                    !$0.isFromCache && $0.documents.count == 1
                }
            }
            await client.close()
        }
        #expect(newRemote.with { $0.documents[task]?.fields["of"] } == .string(edits > 3 ? "new" : "old"))
    }

    @Test(arguments: [false, true])
    func `a local change that the remote receives between reading and answering is in the results`(isNew: Bool)
        async throws
    {
        let client = try makeClient()
        let reader = RemoteReader(client)
        let task = try name("tasks/a")
        if !isNew { _ = try remote.with { try $0.commit([Write(.update(task, fields: ["other": .boolean(true)]))]) } }
        var query = tasksQuery
        query.filter = .field(FieldPath(key: "mine"), .equal, .boolean(true))
        _ = try await client.write([.set(task, ["mine": .boolean(true)])])
        remote.whileAnswering {
            try? await running(client) { try await client.waitForPendingWrites() }
        }
        #expect(try await reader.documents(query).map(\.name) == [task])
        // A document that another one has changed is no result any more.
        _ = try remote.with { try $0.commit([Write(.update(task, fields: [:]))]) }
        #expect(try await reader.documents(query).isEmpty)
    }

    @Test func `what the remote returns is in the results while a commit is in flight`() async throws {
        let client = try makeClient()
        for id in ["a", "b", "c"] {
            _ = try remote.with { try $0.commit([Write(.update(try name("tasks/\(id)"), fields: [:]))]) }
        }
        let before = remote.with(\.commitCount)
        remote.loseAnswers(true)
        _ = try await client.write([.set(try name("tasks/a"), ["mine": .boolean(true)])])
        try await running(client) { while remote.with(\.commitCount) == before { await Task.yield() } }
        let found = try await RemoteReader(client).documents(tasksQuery)
        #expect(found.map(\.name.id) == ["a", "b", "c"] && found.first?.fields["mine"] == .boolean(true))
        #expect(found.map(\.hasPendingWrites) == [true, false, false])
    }

    @Test func `a target added while a stream is being opened is watched too`() async throws {
        let client = try makeClient()
        let early = Query(parent: ParentName(testDatabase), collectionID: "early")
        let late = Query(parent: ParentName(testDatabase), collectionID: "late")
        try await client.keep([early, tasksQuery])
        remote.whileOpening {
            try? await client.keep([late])
            try? await client.release([early])
        }
        _ = try remote.with { try $0.commit([Write(.update(try name("late/a"), fields: [:]))]) }
        try await running(client) {
            _ = try await snapshot(of: client.snapshots(of: late)) { !$0.isFromCache && $0.documents.count == 1 }
            for await status in await client.statuses where status.isCurrent { break }
        }
    }

    @Test func `a client is current without targets that may be refused, and reports refused ones that may not`()
        async throws
    {
        remote.refuse(toWatch: "shared")
        let client = try makeClient()
        let query = Query(parent: ParentName(testDatabase), collectionID: "shared")
        try await client.keep([tasksQuery])
        try await client.keep([query], areOptional: true)
        try await running(client) {
            for await status in await client.statuses where status.isCurrent {
                #expect(status.refusedQueries.isEmpty)
                break
            }
            await client.networkChanged()
            for await status in await client.statuses where !status.isCurrent { break }
            for await status in await client.statuses where status.isCurrent { break }
        }
        let strict = try makeClient()
        try await strict.keep([tasksQuery, query])
        try await running(strict) {
            for await status in await strict.statuses where status.refusedQueries[query] != nil {
                #expect(!status.isCurrent)
                break
            }
        }
    }

    @Test func `transactions of many clients count each time`() async throws {
        let client = try makeClient()
        let counter = try name("tasks/counter")
        let field = try path("n")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await client.runTransaction(attempts: 50) { transaction in
                        if let value = try await transaction.document(counter)?[field]?.integerValue {
                            transaction.update(counter, [field: .integer(value + 1)])
                        } else {
                            transaction.set(counter, ["n": .integer(1)])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(remote.with { $0.documents[counter]?.fields } == ["n": .integer(5)])
    }

    @Test func `a transaction that only read is checked too`() async throws {
        let client = try makeClient()
        let (read, written) = (try name("tasks/read"), try name("tasks/written"))
        let remote = remote
        await #expect(throws: DocumentClientError.self) {
            try await client.runTransaction(attempts: 2) { transaction in
                _ = try await transaction.document(read)
                // Another client always commits first.
                _ = try remote.with { try $0.commit([Write(.update(read, fields: ["x": .string(DocumentID.make())]))]) }
                transaction.set(written, [:])
            }
        }
        #expect(remote.with { $0.documents[written] } == nil)
    }
}
