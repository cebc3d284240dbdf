import DocumentModel
import FerryKitTestSupport
import FirestoreProtocol
import SQLite
import SystemTestKit
import Testing

@testable import DocumentClient

@Suite struct ReplicaTests {
    let remote = MemoryRemote()

    @Test func `a created document is seen at once and has a version after the commit`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["title": .string("milk")])])
        let before = try replica.snapshot(task)
        #expect(before.exists && before.hasPendingWrites && before.updateTime == nil)
        try replica.drain(into: remote)
        let after = try replica.snapshot(task)
        #expect(!after.hasPendingWrites)
        #expect(after.updateTime == remote.documents[task]?.updateTime)
        #expect(after["title"] == .string("milk"))
    }

    @Test(arguments: ["7041553811229350", "0012", "12e4567890123456", "one", "12 without 5"])
    func `a lineage is known again whatever its words look like`(lineage: String) throws {
        let replica = try memoryReplica()
        #expect(try !replica.isOther(lineage: lineage))
        #expect(try !replica.isOther(lineage: lineage))
        #expect(try replica.isOther(lineage: lineage + "0"))
    }

    @Test func `a lineage that an earlier version stored as a number is replaced`() throws {
        let directory = try TemporaryDirectory()
        let database = try SQLiteDatabase(path: directory.path + "/state")
        try database.migrate(ReplicaSchema.component, Array(ReplicaSchema.migrations.prefix(1)))
        try database.executeScript(
            "INSERT INTO client_state VALUES('lineage', '0012'), ('read_time', 7), ('replica', 'r0')")
        let replica = try Replica(database: database, databaseName: testDatabase, replicaID: "r1")
        #expect(replica.replicaID == "r0")
        #expect(try !replica.isOther(lineage: "0012"))
        #expect(try replica.isOther(lineage: "12"))
    }

    @Test func `server timestamps are pending until the remote gives them`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([
            .create(task, [:], transforms: [FieldTransform(try path("made"), .serverTimestamp)])
        ])
        #expect(try replica.snapshot(task)["made"] == .null)
        #expect(try replica.snapshot(task).pendingTimePaths == [try path("made")])
        try replica.drain(into: remote)
        let time = try #require(remote.documents[task]?.updateTime)
        #expect(try replica.snapshot(task)["made"] == .timestamp(time))
    }

    @Test func `unsent changes of one document become one write`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["n": .integer(0)])])
        for number in 1...9 { try replica.append([.update(task, [try path("n"): .integer(Int64(number))])]) }
        #expect(replica.journal.count == 1)
        try replica.drain(into: remote)
        #expect(remote.commitCount == 1)
        #expect(remote.documents[task]?.fields == ["n": .integer(9)])
    }

    @Test func `a document made and deleted before it was sent never reaches the remote`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["n": .integer(0)])])
        try replica.append([.delete(task)])
        #expect(replica.journal.count == 0)
        #expect(try replica.snapshot(task).exists == false)
    }

    @Test func `edits made while a commit is under way follow in the next one`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["n": .integer(0)])])
        let request = try #require(try replica.nextRequest())
        try replica.append([.update(task, [try path("n"): .integer(1)])])
        #expect(try replica.nextRequest() == nil)
        try replica.perform(request, on: remote)
        #expect(try replica.snapshot(task)["n"] == .integer(1))
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["n": .integer(1)])
        #expect(remote.refusedCount == 0)
    }

    @Test func `a change on top of a commit in flight is sent unchanged`() throws {
        let replica = try memoryReplica(policies: RebasePolicies(others: FieldwisePolicy(historyCollection: "history")))
        let task = try name("tasks/a")
        let changed = FieldTransform(try path("changed"), .serverTimestamp)
        try replica.append([.create(task, ["n": .integer(0)], transforms: [changed])])
        try replica.drain(into: remote)
        for number in 1...3 {
            try replica.append([.update(task, [try path("n"): .integer(1)], transforms: [changed])])
            let request = try #require(try replica.nextRequest())
            // The same value again is a separate change, made after the one in flight.
            let next: [FieldPath: Value?] = [try path("n"): .integer(1), try path("m"): .integer(Int64(number))]
            try replica.append([.update(task, next, transforms: [changed])])
            try replica.perform(request, on: remote)
            guard case .commit(let writes)? = try replica.nextRequest() else {
                Issue.record("the second change is not sent")
                return
            }
            #expect(writes.first?.mask == [try path("m"), try path("n")])
            #expect(writes.first?.transforms == [changed])
            try replica.perform(.commit(writes), on: remote)
            #expect(remote.refusedCount == 0)
            #expect(try replica.snapshot(task).document == remote.documents[task])
        }
        #expect(remote.documents.count == 1)
    }

    @Test func `a large document is read in its current version, even if a change of it could not be recorded`() throws
    {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        func text(_ number: Int) -> Value { .string(String(repeating: "\(number)", count: 20_000)) }
        try replica.append([.create(task, ["a": text(0), "b": text(0)])])
        try replica.drain(into: remote)
        for number in 1...3 {
            try replica.append([.update(task, [try path("a"): text(number)])])
            let request = try #require(try replica.nextRequest())
            try replica.append([.update(task, [try path("b"): text(number)])])
            #expect(try replica.snapshot(task)["b"] == text(number))
            try replica.perform(request, on: remote)
            #expect(try replica.snapshot(task)["b"] == text(number))
            try replica.drain(into: remote)
            #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
            _ = try remote.commit([Write(.update(task, fields: ["a": text(number + 3)]), mask: [try path("a")])])
            try replica.append([.update(task, [try path("b"): text(number + 3)])])
            try replica.drain(into: remote)
            #expect(try replica.snapshot(task)["a"] == text(number + 3))
            #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
            #expect(throws: CancellationError.self) {
                try replica.transaction {
                    try replica.moveBase(of: task.path, to: .missing(Timestamp(microseconds: .max)))
                    #expect(try !replica.snapshot(task).exists)
                    throw CancellationError()
                }
            }
            #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
        }
    }

    @Test func `different fields changed on two replicas are both kept`() throws {
        let (one, two) = (try memoryReplica(id: "one"), try memoryReplica(id: "two"))
        let task = try name("tasks/a")
        try one.append([.create(task, ["a": .integer(0), "b": .integer(0)])])
        try one.drain(into: remote)
        try two.append([.merge(task, [try path("b"): .integer(2)])])
        try two.drain(into: remote)
        try one.append([.update(task, [try path("a"): .integer(1)])])
        try one.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["a": .integer(1), "b": .integer(2)])
    }

    @Test func `of the same field the later commit wins and the other goes to the history in the same commit`() throws {
        let policies = RebasePolicies(others: FieldwisePolicy(historyCollection: "history"))
        let one = try memoryReplica(policies: policies, id: "one")
        let task = try name("tasks/a")
        try one.append([.create(task, ["a": .integer(0)])])
        try one.drain(into: remote)
        let base = try #require(remote.documents[task]?.updateTime)
        _ = try remote.commit([Write(.update(task, fields: ["a": .integer(2)]))])
        try one.append([.update(task, [try path("a"): .integer(1)])])
        try one.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["a": .integer(1)])
        let history = remote.documents.values.filter { $0.name.collectionID == "history" }
        #expect(history.count == 1)
        let entry = try #require(history.first)
        #expect(entry.fields["value"] == .integer(2))
        #expect(entry.fields["field"] == .string("a"))
        #expect(entry.fields["baseTime"] == .timestamp(base))
        #expect(entry.fields["replica"] == .string("one"))
        #expect(entry.updateTime == remote.documents[task]?.updateTime)
    }

    @Test func `a delete that had not seen an edit is dropped`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["a": .integer(0)])])
        try replica.drain(into: remote)
        _ = try remote.commit([Write(.update(task, fields: ["a": .integer(2)]))])
        try replica.append([.delete(task)])
        #expect(try replica.snapshot(task).exists == false)
        try replica.drain(into: remote)
        #expect(try replica.snapshot(task)["a"] == .integer(2))
        #expect(remote.documents[task] != nil)
    }

    @Test func `an edit whose document was deleted brings all of it back`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["a": .integer(0), "b": .integer(7)])])
        try replica.drain(into: remote)
        _ = try remote.commit([Write(.delete(task))])
        try replica.append([.update(task, [try path("a"): .integer(1)])])
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["a": .integer(1), "b": .integer(7)])
    }

    @Test func `one refused document is parked with its reason and the others flow`() throws {
        let replica = try memoryReplica()
        remote.refuses = { $0.name.id == "13" ? .permission : nil }
        for number in 0..<100 {
            try replica.append([.create(try name("tasks/\(number)"), ["n": .integer(Int64(number))])])
        }
        try replica.drain(into: remote)
        #expect(remote.documents.count == 99)
        let parked = try replica.reader.pending(parkedOnly: true)
        #expect(parked.map(\.mutation.name.id) == ["13"])
        #expect(parked.first?.parkedReason == "permission: refused")
        #expect(remote.commitCount < 20)
        remote.refuses = { _ in nil }
        try replica.file.unpark(try #require(parked.first?.id))
        try replica.drain(into: remote)
        #expect(remote.documents.count == 100)
    }

    @Test func `a document that another client holds keeps no other back, and is tried again`() throws {
        let replica = try memoryReplica()
        remote.refuses = { $0.name.id == "0" ? .contention : nil }
        for number in 0..<12 {
            try replica.append([.create(try name("tasks/\(number)"), ["n": .integer(Int64(number))])])
        }
        var waits = 0
        while waits < 3 {
            guard let request = try replica.nextRequest(), case .commit(let writes) = request else { break }
            do {
                try replica.committed(try remote.commit(writes))
            } catch let error as RemoteError {
                if try replica.failed(error) == .goOn(wait: true) { waits += 1 }
            }
        }
        #expect(waits == 3)
        #expect(remote.documents.count == 11)
        // All commits once, each of them alone, and the rejected one until the client has to wait.
        #expect(remote.commitCount < 20)
        #expect(try replica.reader.pending(parkedOnly: true).isEmpty)
        try replica.append([.create(try name("tasks/new"), [:])])
        guard case .commit(let writes)? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
        #expect(writes.map(\.name.id) == ["new"])
        try replica.committed(try remote.commit(writes))
        remote.refuses = { _ in nil }
        try replica.drain(into: remote)
        #expect(remote.documents.count == 13)
        #expect(replica.journal.count == 0)
    }

    @Test func `a commit that was aborted left no trace of itself`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["n": .integer(10)])])
        try replica.drain(into: remote)
        try replica.append([.update(task, [:], transforms: [FieldTransform(try path("n"), .increment(.integer(1)))])])
        _ = try replica.nextRequest()
        #expect(try replica.failed(RemoteError(.contention, "held")) == .goOn(wait: true))
        // The same commit again, without a read before it.
        guard case .commit? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
    }

    @Test func `a group takes effect as one or is parked as one`() throws {
        let replica = try memoryReplica()
        remote.refuses = { $0.name.id == "b" ? .invalid : nil }
        let group = try ["a", "b", "c"].map { Mutation.create(try name("tasks/\($0)"), [:]) }
        try replica.append(group, asOne: true)
        try replica.append([.create(try name("tasks/d"), [:])])
        try replica.drain(into: remote)
        #expect(remote.documents.keys.map(\.id) == ["d"])
        #expect(try replica.reader.pending(parkedOnly: true).count == 3)
    }

    @Test func `an update of a document never read waits for a read`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        _ = try remote.commit([Write(.update(task, fields: ["a": .integer(1), "b": .integer(1)]))])
        try replica.append([.update(task, [try path("a"): .integer(2)])])
        guard case .read(let names)? = try replica.nextRequest() else {
            Issue.record("expected a read")
            return
        }
        try replica.read(remote.read(names))
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["a": .integer(2), "b": .integer(1)])
    }

    @Test func `a response older than the stream does not revert documents`() throws {
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["a": .integer(0), "b": .integer(0)])])
        try replica.drain(into: remote)
        func elsewhere(_ number: Int64) throws {
            let fields = ["a": Value.integer(number)]
            _ = try remote.commit([Write(.update(task, fields: fields), mask: [try path("a")])])
        }
        try elsewhere(1)
        try replica.append([.update(task, [try path("b"): .integer(7)])])
        try replica.perform(try #require(try replica.nextRequest()), on: remote)
        guard case .read(let names)? = try replica.nextRequest() else {
            Issue.record("expected a read")
            return
        }
        let answer = remote.read(names)
        try elsewhere(2)
        let news = EncodedDocument(try #require(remote.documents[task]))
        _ = try replica.receive(
            Boundary(
                items: [.changed(news, added: [], removed: [])], readTime: news.updateTime, resumeToken: [], targets: []
            ))
        try replica.read(answer)
        #expect(try replica.snapshot(task)["a"] == .integer(2))
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["a": .integer(2), "b": .integer(7)])
        #expect(try replica.snapshot(task).fields == remote.documents[task]?.fields)
    }

    @Test func `a document that was deleted before the stream reported it is requested`() throws {
        let replica = try memoryReplica()
        let target = try replica.target(for: tasksQuery)
        let (gone, kept) = (try name("tasks/a"), try name("tasks/b"))
        try replica.append([.create(gone, [:]), .create(kept, [:])])
        try replica.drain(into: remote)
        _ = try remote.commit([Write(.delete(gone))])
        func resume() throws -> Replica.ListenOutcome {
            // A read from before the document was created: it was not in the target then, and is
            // not in it now.
            let news = EncodedDocument(try #require(remote.documents[kept]))
            return try replica.receive(
                Boundary(
                    items: [.changed(news, added: [target.id], removed: []), .current([target.id])],
                    readTime: remote.tick(), resumeToken: [1], targets: [target.id], isComplete: true))
        }
        let outcome = try resume()
        #expect(outcome.unreported == [gone])
        _ = try replica.resolveUnreported(outcome.unreported, remote.read(outcome.unreported))
        #expect(try !replica.snapshot(gone).exists)
        #expect(try replica.snapshot(kept).exists)
        #expect(try resume().unreported.isEmpty)
    }

    @Test func `an update of a document that does not exist is parked`() throws {
        let replica = try memoryReplica()
        try replica.append([.update(try name("tasks/a"), [try path("a"): .integer(2)])])
        try replica.drain(into: remote)
        #expect(try replica.reader.pending(parkedOnly: true).count == 1)
        #expect(remote.documents.isEmpty)
    }

    @Test(arguments: [true, false]) func `a lost answer is not counted twice`(signs: Bool) throws {
        let receipt = CommitReceipt(document: try name("devices/one"))
        let replica = try memoryReplica(receipt: signs ? receipt : nil)
        let task = try name("tasks/a")
        try replica.append([.create(task, ["n": .integer(10)])])
        try replica.drain(into: remote)
        try replica.append([.update(task, [:], transforms: [FieldTransform(try path("n"), .increment(.integer(1)))])])
        guard case .commit(let writes)? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
        _ = try remote.commit(writes)
        #expect(try replica.failed(RemoteError(.transient, "cut")) == .goOn(wait: true))
        if signs {
            // With a receipt even a change that follows the lost one is recognized.
            _ = try remote.commit([
                Write(
                    .update(task, fields: [:]), mask: [],
                    transforms: [FieldTransform(try path("n"), .increment(.integer(100)))])
            ])
        }
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields["n"] == .integer(signs ? 111 : 11))
        #expect(try replica.snapshot(task)["n"] == .integer(signs ? 111 : 11))
        #expect(replica.journal.count == 0)
    }

    @Test func `an unauthenticated commit keeps its queue`() throws {
        let replica = try memoryReplica()
        try replica.append([.create(try name("tasks/a"), [:])])
        _ = try replica.nextRequest()
        #expect(try replica.failed(RemoteError(.unauthenticated, "who?")) == .signIn)
        try replica.drain(into: remote)
        #expect(remote.documents.count == 1)
    }

    @Test func `a refused receipt does not stop the commits`() throws {
        let receipt = CommitReceipt(document: try name("devices/one"))
        let replica = try memoryReplica(receipt: receipt)
        remote.refuses = { $0.name.collectionID == "devices" ? .permission : nil }
        for number in 0..<10 { try replica.append([.create(try name("tasks/\(number)"), [:])]) }
        try replica.drain(into: remote)
        #expect(remote.documents.count == 10)
        #expect(replica.receipts.state == .refused)
    }
}

@Suite struct RecordingTests {
    @Test func `an outcome that could not be recorded is found out again`() throws {
        let remote = MemoryRemote()
        let replica = try memoryReplica()
        let task = try name("tasks/a")
        try replica.append([.create(task, ["n": .integer(0)])])
        try replica.drain(into: remote)
        try replica.append([.update(task, [:], transforms: [FieldTransform(try path("n"), .increment(.integer(1)))])])
        guard case .commit(let writes)? = try replica.nextRequest() else {
            Issue.record("expected a commit")
            return
        }
        let result = try remote.commit(writes)
        // The transaction fails as a whole, as with a full disk.
        try replica.database.executeScript("PRAGMA query_only = ON")
        #expect(throws: SQLiteError.self) { try replica.committed(result) }
        try replica.database.executeScript("PRAGMA query_only = OFF")
        try replica.drain(into: remote)
        #expect(remote.documents[task]?.fields == ["n": .integer(1)])
        #expect(replica.journal.count == 0)
        #expect(try replica.snapshot(task)["n"] == .integer(1))
    }
}
