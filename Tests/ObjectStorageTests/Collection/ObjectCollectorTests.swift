import ObjectStoreTestKit
import Synchronization
import SystemIO
import Testing

@testable import ObjectStorage

struct ObjectCollectorTests {
    private static let day: Int64 = 24 * 3600
    private let store: MemoryObjectStore
    private let clock = Clock()
    private let namespace: ObjectNamespace

    private final class Clock: Sendable {
        let seconds = Mutex<Int64>(100_000 * 24 * 3600)

        var now: Int64 { seconds.withLock { $0 } }

        func advance(days: Int64) { seconds.withLock { $0 += days * ObjectCollectorTests.day } }
    }

    init() throws {
        store = MemoryObjectStore { [clock] in clock.now }
        namespace = try ObjectNamespace(user: "alice")
    }

    /// The view of a device that has just connected.
    private var seen: CollectedObjectStore {
        CollectedObjectStore(store, namespace: namespace, storeTime: { [clock] in clock.now })
    }

    private func collect(_ needed: Set<ContentHash> = [], changes: Bool = true) async throws -> ObjectCollector.Outcome
    {
        var stored: [ObjectCollector.Stored] = []
        try await store.forEach(prefix: "") { info in
            guard let reference = namespace.reference(info.key) else { return }
            stored.append(ObjectCollector.Stored(reference, size: info.size, modified: info.modified))
        }
        let collector = ObjectCollector(
            store, namespace: namespace, grace: 30 * Self.day, youth: Self.day, now: { [clock] in clock.now })
        return try await collector.collect(stored, needed: { needed.contains($0.id) }, changes: changes)
    }

    private func put(_ text: String, through store: (any ObjectStore)? = nil) async throws -> ObjectKey {
        let content = Array(text.utf8)
        let key = namespace.chunk(ContentHash(of: content))
        try await (store ?? self.store).put(key, content)
        return key
    }

    @Test func `an unused object is marked and, after the grace period, deleted`() async throws {
        let (old, needed) = (try await put("old"), try await put("needed"))
        let needs: Set<ContentHash> = [ContentHash(of: Array("needed".utf8))]
        #expect(try await collect(needs).unused.count == 1)
        #expect(try await seen.head(old) != nil, "young")
        clock.advance(days: 2)
        #expect(try await collect(needs).removed.isEmpty)
        #expect(try await seen.head(old) == nil)
        #expect(
            try await seen.list(prefix: "", after: nil, limit: 9).objects.map(\.key)
                == [needed, namespace.condemned].sorted())
        #expect(try await seen.read(old, limit: 9) == Array("old".utf8))
        #expect(try await seen.head(needed) != nil)
        clock.advance(days: 29)
        #expect(try await collect(needs).removed.isEmpty)
        clock.advance(days: 1)
        #expect(
            try await collect(needs, changes: false).removed.map(\.reference) == [
                .chunk(ContentHash(of: Array("old".utf8)))
            ])
        #expect(try await store.head(old) != nil)
        #expect(try await collect(needs).removed.count == 1)
        #expect(try await store.head(old) == nil)
        #expect(try await store.head(needed) != nil)
        #expect(try await CondemnedObjects.read(of: namespace, in: store).since.isEmpty)
    }

    @Test func `an object that is put again or in use again is unmarked`() async throws {
        let (first, second) = (try await put("first"), try await put("second"))
        clock.advance(days: 2)
        _ = try await collect()
        clock.advance(days: 20)
        _ = try await put("first", through: seen)
        clock.advance(days: 20)
        #expect(try await collect([ContentHash(of: Array("second".utf8))]).removed.isEmpty)
        #expect(try await seen.head(second) != nil)
        // The last put is 20 days old, and the object is unused.
        #expect(try await seen.head(first) != nil)
        _ = try await collect()
        #expect(try await seen.head(first) == nil)
    }

    @Test func `during a deletion marked objects cannot be put, and others can`() async throws {
        let key = try await put("old")
        clock.advance(days: 2)
        _ = try await collect()
        var condemned = try await CondemnedObjects.read(of: namespace, in: store)
        condemned.beginRemoval(until: clock.now + 900)
        try await store.put(namespace.condemned, condemned.bytes)
        let seen = seen
        await #expect { _ = try await put("old", through: seen) } throws: { error in
            (error as? ObjectStorageError)?.code == .transient
        }
        _ = try await put("other", through: seen)
        // A request of an interrupted collector may arrive late, and clocks differ.
        clock.advance(days: 30)
        condemned.beginRemoval(until: clock.now - 1800)
        try await store.put(namespace.condemned, condemned.bytes)
        await #expect { _ = try await put("old", through: seen) } throws: { error in
            (error as? ObjectStorageError)?.code == .transient
        }
        #expect(try await collect().removed.isEmpty)
        #expect(try await CondemnedObjects.read(of: namespace, in: store) == condemned)
        clock.advance(days: 1)
        #expect(try await collect().removed.count == 1)
        #expect(try await store.head(key) == nil)
    }

    @Test func `the list of marked objects keeps its form`() throws {
        var list = CondemnedObjects()
        let id = ContentHash(of: [1])
        list.condemn(.chunk(id), at: 7)
        list.condemn(.manifest(id), at: 7)
        list.condemn(.manifest(ContentHash(of: [2])), at: 9)
        list.beginRemoval(until: 11)
        #expect(try CondemnedObjects(parsing: list.bytes) == list)
        let start = #"{"version":1,"removals":1,"until":11,"condemned":[{"since":7,"chunks":[""#
        #expect(String(decoding: list.bytes, as: UTF8.self).hasPrefix(start + id.hex))
    }

    @Test(arguments: [
        "", "[]", #"{"version":1}"#, #"{"version":1,"removals":-1,"until":0,"condemned":[]}"#,
        #"{"version":1,"removals":0,"until":9223372036854775807,"condemned":[]}"#,
        #"{"version":1,"removals":0,"until":0,"condemned":[{"since":1,"chunks":["zz"],"manifests":[]}]}"#,
    ])
    func `a damaged list is refused, and nothing is put or removed`(text: String) async throws {
        _ = try await put("old")
        try await store.put(namespace.condemned, Array(text.utf8))
        await #expect { try await collect() } throws: { ($0 as? ObjectStorageError)?.code == .unavailable }
        await #expect { try await put("old", through: seen) } throws: {
            ($0 as? ObjectStorageError)?.code == .unavailable
        }
        try await store.put(namespace.condemned, Array(#"{"version":2}"#.utf8))
        await #expect { try await collect() } throws: { ($0 as? ObjectStorageError)?.code == .unavailable }
    }

    @Test(arguments: ObjectStoreContract.all)
    func `a store that is collected is a store`(contract: ObjectStoreContract) async throws {
        try await contract.run(on: seen)
    }
}
