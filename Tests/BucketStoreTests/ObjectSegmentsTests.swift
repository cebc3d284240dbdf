import Cryptography
import Glibc
import SQLite
import SystemIO
import SystemTestKit
import Testing

@testable import BucketStore

/// Tests of small objects. A killed server is simulated by releasing the store, and a power cut by
/// writing into the segments.
struct ObjectSegmentsTests: SegmentTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `small objects of any size come back, also after a start`() async throws {
        let objects = [0, 1, 127, 3968, 3969, 4096, 70_000, 256 << 10].map { noise($0, UInt64($0)) }
        do {
            let store = try await open()
            for object in objects { try await put(object, as: "\(object.count)", in: store) }
            for object in objects { #expect(try await contents("\(object.count)", in: store) == object) }
            await store.close()
        }
        for _ in 0..<2 {
            // The store was closed cleanly before the first round, but not before the second.
            let store = try await open()
            for object in objects { #expect(try await contents("\(object.count)", in: store) == object) }
        }
        #expect(try segments == ["1"])
    }

    @Test func `deleting or replacing an object frees its blocks at once`() async throws {
        let store = try await open()
        for key in ["a", "b", "c"] { try await put(noise(100_000), as: key, in: store) }
        let all = try bytes(ofSegment: 1)
        try await delete("b", in: store)
        let two = try bytes(ofSegment: 1)
        // A file with many holes needs a block for the list of its extents.
        #expect(two <= all - 90_000)
        try await put([1], as: "a", in: store)
        #expect(try bytes(ofSegment: 1) <= two - 80_000)
        #expect(try await contents("c", in: store) == noise(100_000))
        #expect(try await contents("a", in: store) == [1])
    }

    @Test(.timeLimit(.minutes(1)))
    func `an object that is being read can be read to its end before its blocks are freed`() async throws {
        let store = try await open()
        let object = noise(200_000)
        try await put(object, as: "a", in: store)
        let record = try await record("a", in: store)
        let before = try bytes(ofSegment: 1)
        do {
            let one = try store.open(record)
            let other = try store.open(record)
            try await delete("a", in: store)
            #expect(throws: SystemError.self) { _ = try store.open(record) }
            #expect(try one.read(1 << 20, at: 0) == object)
            // The range that is being sent also keeps the place.
            let span = other.release(100..<200_000)
            #expect(try bytes(ofSegment: 1) == before)
            var sent = [UInt8](repeating: 0, count: span.length)
            #expect(
                pread(span.descriptor, &sent, sent.count, Int(span.offset)) == sent.count
                    && sent == Array(object[100...]))
            close(span.descriptor)
            withExtendedLifetime(span) {}
        }
        while try bytes(ofSegment: 1) > before - 190_000 { await Task.yield() }
        #expect(throws: SystemError.self) { _ = try store.open(record) }
    }

    @Test func `a close waits for the places of the last readers, so that the next open has nothing to recover`()
        async throws
    {
        let store = try await open()
        let keys = (0..<200).map(String.init)
        for key in keys { try await put([1], as: key, in: store) }
        do {
            var readers: [OpenReader] = []
            for key in keys { readers.append(OpenReader(try store.open(try await record(key, in: store)))) }
            for key in keys { try await delete(key, in: store) }
            withExtendedLifetime(readers) {}
        }
        await store.close()
        #expect(FileSystem.exists("\(directory.path)/closed"))
    }

    /// A reference to one of many open objects.
    private final class OpenReader {
        private let object: StoredObject

        init(_ object: consuming StoredObject) { self.object = object }
    }

    @Test func `a full segment is followed by another one, and removed with its last object`() async throws {
        // Two objects of four blocks each, after the header.
        let store = try await open(segmentSize: 4096 * 9)
        for key in 1...6 { try await put(noise(16_000, UInt64(key)), as: "\(key)", in: store) }
        var places: [Int] = []
        for key in 1...6 {
            guard case .segment(let place)? = ObjectPlace(try await record("\(key)", in: store).file) else { continue }
            places.append(place.number)
        }
        #expect(places[0] == places[1] && places[2] == places[3] && places[4] == places[5])
        #expect(Set(places).count == 3)
        try await delete("3", in: store)
        #expect(try segments.contains("\(places[2])"))
        try await delete("4", in: store)
        #expect(try !segments.contains("\(places[2])"))
        // The last segment is still written.
        for key in [5, 6] { try await delete("\(key)", in: store) }
        #expect(try segments.contains("\(places[4])"))
        await store.close()
        #expect(try segments == ["\(places[0])"])
        // The state recorded by the close is enough for the next start.
        let again = try await open(segmentSize: 4096 * 9)
        for key in [1, 2] { #expect(try await contents("\(key)", in: again) == noise(16_000, UInt64(key))) }
        let next = try await put([7], as: "7", in: again)
        #expect(next.number > (places.max() ?? 0))
        for key in [1, 2] { try await delete("\(key)", in: again) }
        #expect(try segments.filter { $0 != "\(next.number)" && $0 != "\(next.number + 1)" }.isEmpty)
    }

    @Test func `many concurrent objects fill several segments`() async throws {
        let store = try await open(segmentSize: 1 << 20)
        try await withThrowingTaskGroup { group in
            for key in 0..<100 {
                group.addTask { try await put(noise(key * 500, UInt64(key)), as: "\(key)", in: store) }
            }
            try await group.waitForAll()
        }
        for key in 0..<100 { #expect(try await contents("\(key)", in: store) == noise(key * 500, UInt64(key))) }
        for key in 0..<100 { try await delete("\(key)", in: store) }
        await store.close()
        #expect(try segments.isEmpty)
    }

    @Test func `after a crash space without a record is freed, and all other objects are intact`() async throws {
        let size: Int64 = 4096 * 9
        do {
            let store = try await open(segmentSize: size)
            try await put(noise(16_000), as: "kept", in: store)
            // The process ends between the sync and the commit, once next to an object with a
            // record, and once in a segment of its own.
            for _ in 0..<3 {
                _ = try await store.keep(noise(16_000, 2)[...], SHA256.hash(noise(16_000, 2)))
            }
        }
        #expect(try segments.count >= 2)
        #expect(try bytes(ofSegment: 1) > 30_000)
        let store = try await open(segmentSize: size)
        #expect(try segments.contains("1") && !segments.contains("2"))
        #expect(try bytes(ofSegment: 1) < 30_000)
        #expect(try await contents("kept", in: store) == noise(16_000))
        try await delete("kept", in: store)
        #expect(try !segments.contains("1"))
        #expect(try await put([1], as: "next", in: store).number > 1)
    }

    /// Releases a place like `ObjectCollection` in another process.
    private func release(_ key: String, in store: DirectoryBucketStore) async throws {
        _ = try await store.index.write { database in
            try database.execute("INSERT INTO released SELECT file FROM object WHERE key = ?", [.text(key)])
            try database.execute("DELETE FROM object WHERE key = ?", [.text(key)])
            return []
        }
    }

    @Test func `an object that another process has removed is freed once`() async throws {
        let size: Int64 = 4096 * 9
        do {
            let store = try await open(segmentSize: size)
            for key in ["a", "b", "c"] { try await put(noise(16_000), as: key, in: store) }
            let before = try bytes(ofSegment: 1)
            try await release("a", in: store)
            try await store.discardReleased()
            #expect(try bytes(ofSegment: 1) <= before - 12_000)
            try await put(noise(16_000), as: "d", in: store)
            try await release("c", in: store)
        }
        // After a crash the place is like any other without a record.
        let store = try await open(segmentSize: size)
        try await store.discardReleased()
        for key in ["b", "d"] { #expect(try await contents(key, in: store) == noise(16_000)) }
        try await delete("d", in: store)
        try await delete("b", in: store)
        #expect(try !segments.contains("1") && !segments.contains("2"))
    }

    @Test(arguments: ["\(Int.max)", "\(Int.max - 1)", "1000000000000000", "-1"])
    func `a number that no segment can have is refused`(number: String) async throws {
        var store: DirectoryBucketStore? = try await open()
        if let store { try await put([1], as: "a", in: store) }
        store = nil
        _ = try FileDescriptor(path: "\(directory.path)/segments/\(number)", [.readWrite, .create], mode: 0o600)
        store = try await open()
        if let store { #expect(try await contents("a", in: store) == [1]) }
        await store?.close()
        try FileSystem.replace(
            "\(directory.path)/closed", with: Array("segments\n\(number)\nend\n".utf8), mode: 0o600)
        let last = try await open()
        #expect(try await put([2], as: "b", in: last).number < 10)
        #expect(try await contents("a", in: last) == [1])
    }

    @Test(arguments: [true, false]) func `if the index is lost, nothing is freed`(wasClosed: Bool) async throws {
        var store: DirectoryBucketStore? = try await open()
        if let store { try await put(noise(5000), as: "a", in: store) }
        if wasClosed { await store?.close() }
        store = nil
        for file in ["index.db", "index.db-wal", "index.db-shm"] {
            _ = try FileSystem.remove("\(directory.path)/\(file)")
        }
        for _ in 0..<2 {
            #expect(throws: BucketStoreError.self) { try DirectoryBucketStore(directory: directory.path) }
        }
        #expect(try segments.contains("1"))
    }

    @Test func `lost objects are distinguished from existing ones`() async throws {
        let store = try await open()
        let places = [
            try await put(noise(9000), as: "first", in: store), try await put(noise(9000), as: "head", in: store),
            try await put(noise(9000), as: "cut", in: store),
        ]
        try segment(1).write([UInt8](repeating: 0, count: 4096), at: places[1].offset)
        try segment(1).truncate(to: places[2].start + 5000)
        let head = try await record("head", in: store)
        #expect(throws: SystemError.self) { _ = try store.open(head) }
        #expect(!store.holds(head))
        let cut = try await record("cut", in: store)
        #expect(try store.open(cut).size == 5000)
        #expect(!store.holds(cut))
        #expect(try await contents("first", in: store) == noise(9000))
        // After another put the objects are complete, and no other object's place has changed.
        for key in ["head", "cut"] {
            try await put(noise(100, 3), as: key, in: store)
            #expect(try await contents(key, in: store) == noise(100, 3))
        }
        #expect(try await contents("first", in: store) == noise(9000))
    }

    @Test func `a head is distinguished from other heads and from empty blocks`() {
        let bytes = EntryFormat.head([UInt8](repeating: 3, count: 16), "s/1/4096/50", size: 50, SHA256.hash([]))
        #expect(EntryFormat.isHead(bytes, named: "s/1/4096/50"))
        for name in ["s/1/4096/5", "s/1/4096/500", "s/2/4096/50", ""] {
            #expect(!EntryFormat.isHead(bytes, named: name), "\(name)")
        }
        #expect(!EntryFormat.isHead([UInt8](repeating: 0, count: EntryFormat.headSize), named: "s/1/4096/50"))
        #expect(!EntryFormat.isHead(Array(bytes.dropLast()), named: "s/1/4096/50"))
        let long = String(repeating: "1", count: 60)
        #expect(
            EntryFormat.isHead(
                EntryFormat.head([UInt8](repeating: 3, count: 16), long, size: 1, SHA256.hash([])), named: long))
        #expect(!EntryFormat.isHead(bytes, named: long + long))
    }

    @Test func `a record with the place of another object gets no bytes`() async throws {
        let store = try await open()
        let place = try await put(noise(9000), as: "a", in: store)
        for file in ["s/1/\(place.offset)/8999", "s/1/\(place.offset + 4096)/10", "s/2/4096/10", "../index.db"] {
            #expect(throws: SystemError.self) { _ = try store.open(file, size: 10) }
        }
    }

    @Test func `a closed server records its state for the next start`() async throws {
        let store = try await open()
        _ = try await put([1, 2, 3], as: "a", in: store)
        await store.close()
        #expect(
            try Directory(path: directory.path).entries().map(\.name).sorted() == [
                "closed", "files", "incoming", "index.db", "segments",
            ])
        let note = try FileSystem.read("\(directory.path)/closed")
        let state = SegmentState(nextNumber: 2, live: [1: 4096])
        #expect(SegmentState(note) == state)
        #expect(state.bytes == note)
        for length in 0..<note.count { #expect(SegmentState(Array(note.prefix(length))) == nil, "\(length)") }
        #expect(SegmentState(Array("segments\n2\n2 4096\nend\n".utf8)) == nil)
    }
}
