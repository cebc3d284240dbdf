import Synchronization
import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

/// Devices that put and forget objects, and a collector that is killed from time to time, in an
/// order generated from a seed.
struct CollectionRaceTests {
    private static let day: Int64 = 24 * 3600
    private static let grace = 30 * day
    private static let contents: [[UInt8]] = (0..<3).map { [UInt8($0), 1, 2] }
    private static let machines = 3

    /// The references of documents by device and index of the content, and the time since which
    /// each device is uploading.
    private final class Documents: Sendable {
        struct State {
            var references: Set<[Int]> = []
            var uploads: [Int: Int64] = [:]
            var isOver = false
            var commits = 0
            var removals = 0
            /// The number of times that a device put a marked object, and that its put was rejected
            /// until later.
            var refusals = 0
        }

        let state = Mutex(State())
    }

    private let namespace: ObjectNamespace
    private let ids = Self.contents.map { ContentHash(of: $0) }

    init() throws { namespace = try ObjectNamespace(user: "alice") }

    @Test(arguments: 0..<8)
    func `objects in use are never lost, and unused ones are deleted`(block: UInt64) throws {
        var (commits, removals, refusals) = (0, 0, 0)
        for seed in block * 50..<(block + 1) * 50 {
            let (done, removed, refused) = try run(seed: seed)
            commits += done
            removals += removed
            refusals += refused
        }
        // Otherwise the test has tested nothing.
        #expect(commits > 100 && removals > 0 && refusals > 0, "\(commits) \(removals) \(refusals)")
    }

    private func run(seed: UInt64) throws -> (commits: Int, removals: Int, refusals: Int) {
        var random = SeededGenerator(seed: seed)
        let store = SteppedStore(now: 100_000 * Self.day, seed: random.next())
        let documents = Documents()
        let machines = (0..<Self.machines).map { machine in
            let seed = random.next()
            return Task(executorPreference: store.executor) {
                await use(store, as: machine, documents, SeededGenerator(seed: seed))
            }
        }
        func collect() -> Task<Void, Never> {
            Task(executorPreference: store.executor) {
                while !Task.isCancelled {
                    guard let count = try? await collectOnce(store, documents) else { break }
                    documents.state.withLock { $0.removals += count }
                }
            }
        }
        var collector = collect()
        store.executor.drain()
        for _ in 0..<2000 {
            switch Int.random(in: 0..<40, using: &random) {
            case 0:
                collector.cancel()
                store.kill(Self.machines)
                collector = collect()
                store.executor.drain()
            case 1...4:
                let steps: [Int64] = [1, 60, 600, 850, 3600, Self.day, 12 * Self.day, 28 * Self.day]
                let step = steps.randomElement(using: &random) ?? 1
                let start = documents.state.withLock { $0.uploads.values.min() } ?? store.now
                // The grace period is longer than any upload takes.
                if store.now + step - start < Self.grace - 2 * Self.day { store.advance(by: step) }
            default: store.step(using: &random)
            }
            for reference in documents.state.withLock({ $0.references }) {
                try #require(store.has(namespace.chunk(ids[reference[1]])), "seed \(seed)")
            }
        }
        documents.state.withLock { $0.isOver = true }
        collector.cancel()
        store.kill(Self.machines)
        while !store.isIdle { store.step(using: &random) }
        documents.state.withLock { $0.references = [] }
        // One collection marks the object, another deletes it.
        for _ in 0..<3 {
            store.advance(by: Self.grace + Self.day)
            let last = Task(executorPreference: store.executor) { try await collectOnce(store, documents) }
            store.executor.drain()
            while !store.isIdle { store.step(using: &random) }
            extendLifetime(last)
        }
        #expect(store.keys.allSatisfy { $0 == namespace.condemned }, "seed \(seed)")
        extendLifetime(machines)
        return documents.state.withLock { ($0.commits, $0.removals, $0.refusals) }
    }

    private func use(
        _ store: SteppedStore, as machine: Int, _ documents: Documents, _ generator: SeededGenerator
    ) async {
        var random = generator
        var environment = Environment.system
        environment.now = { .seconds(store.now) }
        let seen = CollectedObjectStore(
            store.face(of: machine), namespace: namespace, storeTime: { store.now }, environment: environment)
        while !documents.state.withLock({ $0.isOver }) {
            let index = Int.random(in: 0..<ids.count, using: &random)
            let reference = [machine, index]
            do {
                try await store.pause(machine)
                if documents.state.withLock({ $0.references.remove(reference) }) != nil { continue }
                if Int.random(in: 0..<8, using: &random) > 0 { continue }
                documents.state.withLock { $0.uploads[machine] = store.now }
                let key = namespace.chunk(ids[index])
                if try await seen.head(key) == nil {
                    try await seen.put(key, Self.contents[index], type: .octetStream, hash: nil)
                }
                try await store.pause(machine)
                documents.state.withLock { state in
                    state.references.insert(reference)
                    state.commits += 1
                }
            } catch let error as ObjectStorageError where error.message.contains("are being deleted") {
                documents.state.withLock { $0.refusals += 1 }
            } catch {}
            documents.state.withLock { $0.uploads[machine] = nil }
        }
    }

    private func collectOnce(_ store: SteppedStore, _ documents: Documents) async throws -> Int {
        let face = store.face(of: Self.machines)
        var stored: [ObjectCollector.Stored] = []
        try await face.forEach(prefix: "") { info in
            guard let reference = namespace.reference(info.key) else { return }
            stored.append(ObjectCollector.Stored(reference, size: info.size, modified: info.modified))
        }
        let needed = documents.state.withLock { state in Set(state.references.map { ids[$0[1]] }) }
        let collector = ObjectCollector(
            face, namespace: namespace, grace: Self.grace, youth: Self.day, now: { store.now })
        return try await collector.collect(stored, needed: { needed.contains($0.id) }, changes: true).removed.count
    }
}
