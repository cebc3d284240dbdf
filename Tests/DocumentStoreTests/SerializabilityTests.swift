import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import FirestoreProtocol
import Synchronization
import Testing

/// Records the reads and writes of concurrent transactions, and searches for an order in which they
/// could have run one after another.
///
/// Every write stores a unique value, so a read tells which write it saw. The order of the writes
/// of a key is that of their commit times. An order of all transactions exists if and only if the
/// graph of these dependencies has no cycle: writer before the reader of its value, reader before
/// the next writer of the key, writer before the next writer (Adya, "Weak Consistency", 1999).
struct SerializabilityTests {
    private struct Transaction {
        /// The values that were read; 0 if there was no document.
        var reads: [String: Int64] = [:]
        var writes: [String: Int64] = [:]
        /// The time of the commit; nil if the transaction only read.
        var commitTime: Timestamp?
        /// The number of transactions that were acknowledged before this one began.
        var acknowledgedBefore = 0
    }

    private struct History {
        var transactions: [Transaction] = []

        /// Returns transactions that depend on one another in a cycle; nil if there are none.
        func cycle() -> [Int]? {
            var writers: [String: [(time: Timestamp, value: Int64, transaction: Int)]] = [:]
            for (index, transaction) in transactions.enumerated() {
                guard let time = transaction.commitTime else { continue }
                for (key, value) in transaction.writes { writers[key, default: []].append((time, value, index)) }
            }
            for key in writers.keys { writers[key]?.sort { $0.time < $1.time } }
            var followers = [Set<Int>](repeating: [], count: transactions.count)
            for versions in writers.values {
                for (earlier, later) in zip(versions, versions.dropFirst()) {
                    followers[earlier.transaction].insert(later.transaction)
                }
            }
            for (index, transaction) in transactions.enumerated() {
                for (key, value) in transaction.reads {
                    let versions = writers[key] ?? []
                    let seen = versions.firstIndex { $0.value == value }
                    if let seen, versions[seen].transaction != index {
                        followers[versions[seen].transaction].insert(index)
                    }
                    let next = seen.map { $0 + 1 } ?? 0
                    if next < versions.count, versions[next].transaction != index {
                        followers[index].insert(versions[next].transaction)
                    }
                }
                // A transaction that was acknowledged before another one began precedes it: strict
                // serializability.
                for earlier in 0..<transaction.acknowledgedBefore { followers[earlier].insert(index) }
            }
            for index in followers.indices { followers[index].remove(index) }
            return Self.cycle(in: followers)
        }

        private static func cycle(in followers: [Set<Int>]) -> [Int]? {
            var waits = [Int](repeating: 0, count: followers.count)
            for targets in followers { for target in targets { waits[target] += 1 } }
            var free = waits.indices.filter { waits[$0] == 0 }
            var done = 0
            while let index = free.popLast() {
                done += 1
                for target in followers[index] {
                    waits[target] -= 1
                    if waits[target] == 0 { free.append(target) }
                }
            }
            return done == followers.count ? nil : waits.indices.filter { waits[$0] > 0 }
        }
    }

    /// The transactions of all clients, in the order of the acknowledgments.
    private final class Recorder: Sendable {
        private let state = Mutex((history: History(), lastValue: Int64(0)))

        var count: Int { state.withLock { $0.history.transactions.count } }
        var history: History { state.withLock { $0.history } }

        func newValue() -> Int64 {
            state.withLock { state in
                state.lastValue += 1
                return state.lastValue
            }
        }

        func add(_ transaction: Transaction) { state.withLock { $0.history.transactions.append(transaction) } }
    }

    private static func read(_ documents: [EncodedDocument?]) throws -> [Int64] {
        try documents.map { try $0?.fields.decoded()["v"]?.integerValue ?? 0 }
    }

    /// Runs one transaction of a random kind until it succeeds.
    private static func run(
        _ random: inout SeededGenerator, on store: any DocumentStore, _ recorder: Recorder
    ) async throws {
        let keys = (0..<6).map { "k/\($0)" }.shuffled(using: &random)
        let (readKeys, writeKeys) = (Array(keys.prefix(2)), Array(keys[1...2]))
        let names = try readKeys.map { try DocumentName(database: store.database, path: $0) }
        let kind = Int.random(in: 0..<6, using: &random)
        var retry: TransactionID?
        while true {
            var record = Transaction()
            record.acknowledgedBefore = recorder.count
            do {
                switch kind {
                case 0:
                    // A write without a read.
                    record.writes[readKeys[0]] = recorder.newValue()
                    record.commitTime = try await store.commit(try writes(record, in: store)).commitTime
                case 1:
                    let found = try await store.get(names, at: .strong).documents
                    record.reads = Dictionary(uniqueKeysWithValues: zip(readKeys, try read(found)))
                case 2:
                    // One query reads all keys.
                    let query = Query(parent: ParentName(store.database), collectionID: "k")
                    for key in keys { record.reads[key] = 0 }
                    for try await document in try await store.query(query, at: .strong).documents {
                        record.reads[document.name.path] = try read([document])[0]
                    }
                default:
                    let id = try await store.beginTransaction(.readWrite(retry: retry))
                    retry = id
                    for (key, name) in zip(readKeys, names) {
                        record.reads[key] = try read(try await store.get([name], at: .transaction(id)).documents)[0]
                    }
                    for key in writeKeys { record.writes[key] = recorder.newValue() }
                    record.commitTime =
                        try await store.commit(try writes(record, in: store), transaction: id, guarding: nil).commitTime
                }
                return recorder.add(record)
            } catch let error as DocumentStoreError where error.code == .aborted {}
        }
    }

    private static func writes(_ record: Transaction, in store: any DocumentStore) throws -> [Write] {
        try record.writes.map { key, value in
            Write(.update(try DocumentName(database: store.database, path: key), fields: ["v": .integer(value)]))
        }
    }

    private func check(_ store: any DocumentStore, seed: UInt64, clients: Int, rounds: Int) async throws {
        let recorder = Recorder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask {
                    var random = SeededGenerator(seed: seed * 100 + UInt64(client))
                    for _ in 0..<rounds { try await Self.run(&random, on: store, recorder) }
                }
            }
            try await group.waitForAll()
        }
        #expect(recorder.count == clients * rounds)
        #expect(recorder.history.cycle() == nil, "seed \(seed)")
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `concurrent transactions on disk could have run one after the other`(seed: UInt64) async throws {
        let temporary = try TemporaryStore()
        let store = try await temporary.open()
        try await check(store, seed: seed, clients: 8, rounds: 40)
        await store.close()
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `concurrent transactions in memory could have run one after the other`(seed: UInt64) async throws {
        try await check(MemoryDocumentStore(TemporaryStore.database), seed: seed, clients: 8, rounds: 40)
    }

    @Test func `the checker finds lost updates, write skew, and stale reads`() {
        func cycle(_ transactions: [Transaction]) -> [Int]? { History(transactions: transactions).cycle() }
        func time(_ number: Int64) -> Timestamp { Timestamp(microseconds: number) }
        let first = Transaction(reads: ["a": 0], writes: ["a": 1], commitTime: time(1))
        #expect(cycle([first, Transaction(reads: ["a": 1], writes: ["a": 2], commitTime: time(2))]) == nil)
        #expect(cycle([first, Transaction(reads: ["a": 0], writes: ["a": 2], commitTime: time(2))]) != nil)
        #expect(
            cycle([
                Transaction(reads: ["a": 0], writes: ["b": 1], commitTime: time(1)),
                Transaction(reads: ["b": 0], writes: ["a": 2], commitTime: time(2)),
            ]) != nil)
        #expect(cycle([first, Transaction(reads: ["a": 0], acknowledgedBefore: 0)]) == nil)
        #expect(cycle([first, Transaction(reads: ["a": 0], acknowledgedBefore: 1)]) != nil)
    }
}
