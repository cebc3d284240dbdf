package import DocumentModel
package import DocumentStore
import FirestoreProtocol

/// Compares a store with the memory store: the same random operations must have the same results.
///
/// Every comparison starts with an empty store of the database `DocumentStoreComparison.database`,
/// and throws a `DocumentStoreContract.Violation` at the first difference.
package enum DocumentStoreComparison {
    package static let database = DatabaseName(project: "test")

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

    /// Compares random commits, queries, aggregations, listings and gets.
    ///
    /// - Parameters:
    ///   - seed: determines the operations.
    ///   - reopen: called once, halfway. Returns the store to continue with.
    package static func compareReads(
        of store: any DocumentStore, seed: UInt64, reopen: () async throws -> any DocumentStore
    ) async throws {
        var real = store
        let reference = MemoryDocumentStore(database)
        var random = RandomOperations(seed: seed, database: database)
        var moments: [Moment] = []
        for step in 0..<250 {
            let note = "seed \(seed), step \(step)"
            if step == 125 { real = try await reopen() }
            let writes = try random.commit()
            let (realCommit, realOutcome) = await Self.outcome { try await real.commit(writes) }
            let (referenceCommit, referenceOutcome) = await Self.outcome { try await reference.commit(writes) }
            try requireEqual(realOutcome, referenceOutcome, note)
            if let realCommit, let referenceCommit {
                moments.append(Moment(real: realCommit.commitTime, reference: referenceCommit.commitTime))
                try requireEqual(
                    realCommit.writeResults.map(\.transformResults),
                    referenceCommit.writeResults.map(\.transformResults), note)
            }
            let query = try random.query()
            var (at, referenceAt) = (ReadMoment.strong, ReadMoment.strong)
            if !moments.isEmpty, random.number(below: 3) == 0 {
                let moment = moments[random.number(below: moments.count)]
                (at, referenceAt) = (.at(moment.real), .at(moment.reference))
            }
            let (realResults, realQueried) = await Self.outcome { try await Self.contents(query, real, at) }
            let (wanted, wantedQueried) = await Self.outcome { try await Self.contents(query, reference, referenceAt) }
            try requireEqual(realQueried, wantedQueried, "\(note) \(query)")
            try requireEqual(realResults, wanted, "\(note) \(query)")
            let aggregations = Self.aggregations
            let (values, aggregated) = await Self.outcome {
                try await real.aggregate(query, aggregations, at: at).values
            }
            let (wantedValues, wantedAggregated) = await Self.outcome {
                try await reference.aggregate(query, aggregations, at: referenceAt).values
            }
            try require(aggregated == wantedAggregated && values == wantedValues, "\(note) \(query)")
            let listing = random.listing()
            try requireEqual(
                try await Self.pages(listing, real, at), try await Self.pages(listing, reference, referenceAt),
                "\(note) \(listing)")
            let name = try random.name()
            let realFields = try await real.get([name], at: at).documents[0]?.fields
            let wantedFields = try await reference.get([name], at: referenceAt).documents[0]?.fields
            try requireEqual(realFields, wantedFields, note)
        }
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

    /// Compares random transactions.
    ///
    /// - Parameter real: a store whose `lockWaitLimit` is a millisecond.
    package static func compareTransactions(of real: any DocumentStore, seed: UInt64) async throws {
        let reference = MemoryDocumentStore(database, lockWaitLimit: .milliseconds(1))
        var random = RandomOperations(seed: seed + 2000, database: database)
        var open: [Pair] = []
        var ended: [Pair] = []
        for step in 0..<200 {
            let note = "seed \(seed), step \(step)"
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
                try requireEqual(found, wanted, note)
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
            try requireEqual(outcomes.0, outcomes.1, note)
        }
        for pair in open {
            _ = await Self.outcome { try await real.rollback(pair.real) }
            _ = await Self.outcome { try await reference.rollback(pair.reference) }
        }
        let everything = Query(
            parent: ParentName(database), collectionID: nil, allDescendants: true)
        try requireEqual(
            try await Self.contents(everything, real, .strong),
            try await Self.contents(everything, reference, .strong), "seed \(seed)")
    }

    /// Checks that listeners hold the results of their queries after every commit.
    ///
    /// - Parameter real: a store with a small backlog, so that some listeners have to catch up from
    ///   the log.
    package static func compareListeners(of real: any DocumentStore, seed: UInt64) async throws {
        var random = RandomOperations(seed: seed + 1000, database: database)
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
                    try requireEqual(
                        held?.updateTime, document.updateTime, "seed \(seed), step \(step), target \(id)")
                }
                try requireEqual(client.documents(id), names.sorted(), "seed \(seed), step \(step), \(query)")
            }
        }
        await client.stream.cancel()
    }
}
