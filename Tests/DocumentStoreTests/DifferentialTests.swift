import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import FirestoreProtocol
import Testing

/// Compares the SQLite store with the memory store: the same random operations must have the same
/// results.
struct DifferentialTests {
    /// The times of one commit in both stores.
    private struct Moment {
        let real: Timestamp
        let reference: Timestamp
    }

    private static func outcome<Result>(_ body: () async throws -> Result) async -> (Result?, String) {
        do { return (try await body(), "ok") } catch {
            let code = (error as? DocumentStoreError)?.code
            return (nil, code.map { "\($0)" } ?? "\(error)")
        }
    }

    /// Returns documents without times, which differ between the stores.
    private static func contents(_ query: Query, _ store: any DocumentStore, _ moment: ReadMoment) async throws
        -> [String]
    {
        var found: [String] = []
        for try await document in try await store.query(query, at: moment).documents {
            found.append("\(document.name.path) \(document.fields.bytes)")
        }
        return found
    }

    /// The exemptions at first and later.
    private static let exemptions: [(Set<IndexExemption>, Set<IndexExemption>)] = [
        ([], []), ([], exemption(["a", "c"], ["x"])), (exemption(["a"], ["x"]), exemption(["a", "b"], ["y"])),
        (exemption(["a", "b", "c"], ["x", "y", "z"]), []),
    ]

    private static func exemption(_ collections: [String], _ fields: [String]) -> Set<IndexExemption> {
        Set(collections.flatMap { id in fields.map { IndexExemption(collectionID: id, field: $0) } })
    }

    @Test(arguments: 0..<16)
    func `random commits and queries give the same results as the reference`(seed: UInt64) async throws {
        let temporary = try TemporaryStore()
        var configuration = SQLiteDocumentStore.Configuration()
        // Every access path of a query must give the same results.
        configuration.tuning.gatherLimit = seed % 2 == 0 ? 2000 : 1
        configuration.tuning.pageCount = seed % 3 == 0 ? 300 : 2
        configuration.tuning.compositeMinimum = seed % 4 < 2 ? 0 : 100
        configuration.tuning.compositeGain = 0
        configuration.indexBatch = seed % 3 == 0 ? 100_000 : 5
        let (exempt, exemptLater) = Self.exemptions[Int(seed / 2 % 4)]
        configuration.indexExemptions = exempt
        var real = try await temporary.open(configuration)
        let reference = MemoryDocumentStore(TemporaryStore.database)
        var random = RandomOperations(seed: seed, database: TemporaryStore.database)
        var moments: [Moment] = []
        for step in 0..<250 {
            let note = Comment(rawValue: "seed \(seed), step \(step)")
            if step == 125 {
                #expect(try await real.check() == [], note)
                await real.close()
                configuration.indexExemptions = exemptLater
                real = try await temporary.open(configuration)
                #expect(try await real.check() == [], note)
            }
            let writes = try random.commit()
            let (realCommit, realOutcome) = await Self.outcome { try await real.commit(writes) }
            let (referenceCommit, referenceOutcome) = await Self.outcome { try await reference.commit(writes) }
            try #require(realOutcome == referenceOutcome, note)
            if let realCommit, let referenceCommit {
                moments.append(Moment(real: realCommit.commitTime, reference: referenceCommit.commitTime))
                #expect(
                    realCommit.writeResults.map(\.transformResults)
                        == referenceCommit.writeResults.map(\.transformResults),
                    note)
            }
            let query = try random.query()
            var (at, referenceAt) = (ReadMoment.strong, ReadMoment.strong)
            if !moments.isEmpty, random.number(below: 3) == 0 {
                let moment = moments[random.number(below: moments.count)]
                (at, referenceAt) = (.at(moment.real), .at(moment.reference))
            }
            let (realResults, realQueried) = await Self.outcome { try await Self.contents(query, real, at) }
            let (wanted, wantedQueried) = await Self.outcome { try await Self.contents(query, reference, referenceAt) }
            try #require(realQueried == wantedQueried, "\(note) \(query)")
            try #require(realResults == wanted, "\(note) \(query)")
            let aggregations = Self.aggregations
            let (values, aggregated) = await Self.outcome {
                try await real.aggregate(query, aggregations, at: at).values
            }
            let (wantedValues, wantedAggregated) = await Self.outcome {
                try await reference.aggregate(query, aggregations, at: referenceAt).values
            }
            try #require(aggregated == wantedAggregated && values == wantedValues, "\(note) \(query)")
            let listing = random.listing()
            try #require(
                try await Self.pages(listing, real, at) == Self.pages(listing, reference, referenceAt),
                "\(note) \(listing)")
            let name = try random.name()
            let realFields = try await real.get([name], at: at).documents[0]?.fields
            let wantedFields = try await reference.get([name], at: referenceAt).documents[0]?.fields
            #expect(realFields == wantedFields, note)
        }
        #expect(try await real.check() == [], "seed \(seed)")
        await real.close()
    }

    private static let aggregations = [
        Query.Aggregation(alias: "", .count(upTo: nil)), Query.Aggregation(alias: "few", .count(upTo: 2)),
        Query.Aggregation(alias: "sum", .sum(FieldPath(key: "x"))),
        Query.Aggregation(alias: "average", .average(FieldPath(key: "x"))),
    ]

    /// Returns all pages of a listing.
    private static func pages(_ listing: DocumentListing, _ store: any DocumentStore, _ moment: ReadMoment) async throws
        -> [String]
    {
        var listing = listing
        var found: [String] = []
        repeat {
            let page = try await store.list(listing, at: moment)
            found += page.entries.map { entry in
                switch entry {
                case .document(let document): "\(document.name.path) \(document.fields.bytes)"
                case .missing(let name): "missing \(name.path)"
                }
            }
            listing.pageToken = page.nextPageToken
        } while !listing.pageToken.isEmpty
        return found
    }

    /// One transaction in both stores.
    private struct Pair {
        let real: TransactionID
        let reference: TransactionID
    }

    @Test(arguments: 0..<8)
    func `random transactions read and end as those of the reference`(seed: UInt64) async throws {
        let temporary = try TemporaryStore()
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.lockWaitLimit = .milliseconds(1)
        let real = try await temporary.open(configuration)
        let reference = MemoryDocumentStore(TemporaryStore.database, lockWaitLimit: .milliseconds(1))
        var random = RandomOperations(seed: seed + 2000, database: TemporaryStore.database)
        var open: [Pair] = []
        var ended: [Pair] = []
        for step in 0..<200 {
            let note = Comment(rawValue: "seed \(seed), step \(step)")
            var outcomes = ("", "")
            let chosen = open.isEmpty ? nil : random.number(below: open.count)
            switch (random.number(below: 8), chosen) {
            case (0, _) where open.count < 5, (1, _) where open.count < 2:
                let isRetry = !ended.isEmpty && random.number(below: 2) == 0
                let retry = isRetry ? ended[random.number(below: ended.count)] : nil
                open.append(
                    Pair(
                        real: try await real.beginTransaction(.readWrite(retry: retry?.real)),
                        reference: try await reference.beginTransaction(.readWrite(retry: retry?.reference))))
            case (2, _) where open.count < 5:
                open.append(
                    Pair(
                        real: try await real.beginTransaction(.readOnly(at: nil)),
                        reference: try await reference.beginTransaction(.readOnly(at: nil))))
            case (3, let chosen?), (4, let chosen?):
                let pair = open[chosen]
                let query = try random.query()
                let name = try random.name()
                let (found, end) = await Self.outcome {
                    try await Self.contents(query, real, .transaction(pair.real))
                        + [String(describing: try await real.get(name, at: .transaction(pair.real))?.fields)]
                }
                let (wanted, wantedEnd) = await Self.outcome {
                    try await Self.contents(query, reference, .transaction(pair.reference))
                        + [
                            String(
                                describing: try await reference.get(name, at: .transaction(pair.reference))?.fields)
                        ]
                }
                try #require(found == wanted, note)
                outcomes = (end, wantedEnd)
            case (5, let chosen?):
                let pair = open.remove(at: chosen)
                let writes = random.number(below: 4) == 0 ? [] : try random.commit()
                outcomes.0 = await Self.outcome {
                    try await real.commit(writes, transaction: pair.real, guarding: nil)
                }.1
                outcomes.1 = await Self.outcome {
                    try await reference.commit(writes, transaction: pair.reference, guarding: nil)
                }.1
                ended.append(pair)
            case (6, let chosen?):
                let pair = open.remove(at: chosen)
                outcomes.0 = await Self.outcome { try await real.rollback(pair.real) }.1
                outcomes.1 = await Self.outcome { try await reference.rollback(pair.reference) }.1
                ended.append(pair)
            default:
                let writes = try random.commit()
                outcomes.0 = await Self.outcome { try await real.commit(writes) }.1
                outcomes.1 = await Self.outcome { try await reference.commit(writes) }.1
            }
            try #require(outcomes.0 == outcomes.1, note)
        }
        for pair in open {
            _ = await Self.outcome { try await real.rollback(pair.real) }
            _ = await Self.outcome { try await reference.rollback(pair.reference) }
        }
        let everything = Query(
            parent: ParentName(TemporaryStore.database), collectionID: nil, allDescendants: true)
        #expect(
            try await Self.contents(everything, real, .strong) == Self.contents(everything, reference, .strong),
            "seed \(seed)")
        await real.close()
    }

    @Test(arguments: 0..<5)
    func `listeners hold the same documents as the reference after every commit`(seed: UInt64) async throws {
        let temporary = try TemporaryStore()
        var configuration = SQLiteDocumentStore.Configuration()
        // A small backlog, so that some listeners have to catch up from the log.
        configuration.listenerBacklog = 3
        let real = try await temporary.open(configuration)
        var random = RandomOperations(seed: seed + 1000, database: TemporaryStore.database)
        for _ in 0..<10 { _ = try? await real.commit(try random.commit()) }
        var client = ListenClient(real)
        var queries: [Int32: Query] = [:]
        for id in 1...6 as ClosedRange<Int32> {
            let query = try random.query(forListening: true)
            queries[id] = query
            await client.stream.add(ListenTarget(id: id, selection: .query(query)))
        }
        try await client.advance(untilAnswered: Array(queries.keys))
        for step in 0..<60 {
            var last: Timestamp?
            for _ in 0...random.number(below: 8) {
                if let commit = try? await real.commit(try random.commit()) { last = commit.commitTime }
            }
            guard let last else { continue }
            // A change that concerns every target ends the wait.
            try await client.advance(past: last, marker: real)
            for (id, query) in queries where client.targets[id] != nil {
                var wanted = query
                wanted.projection = nil
                var names: [String] = []
                for try await document in try await real.query(wanted, at: .at(client.readTime)).documents {
                    names.append(document.name.path)
                    let held = client.targets[id]?.documents[document.name]
                    #expect(held?.updateTime == document.updateTime, "seed \(seed), step \(step), target \(id)")
                }
                try #require(client.documents(id) == names.sorted(), "seed \(seed), step \(step), \(query)")
            }
        }
        await client.stream.cancel()
        await real.close()
    }
}
