import Cryptography
import SQLite
import SystemIO
import SystemTestKit
import Testing

@testable import BucketStore

/// Tests of a file system that cannot free parts of files. A killed server is simulated by
/// releasing the store.
struct SegmentCompactionTests: SegmentTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Opens a store with room for four objects of four blocks each in a segment, after its header.
    private func open(punchesSegments: Bool = false) async throws -> DirectoryBucketStore {
        try await open(segmentSize: 4096 * 17, punchesSegments: punchesSegments)
    }

    private func object(_ number: Int, size: Int = 16_000) -> [UInt8] {
        [UInt8](repeating: UInt8(number), count: size)
    }

    /// Puts objects named by their numbers, four in each segment. The first segment has number 1;
    /// the others have later numbers, depending on which thread came first.
    private func put(_ numbers: ClosedRange<Int>, in store: DirectoryBucketStore) async throws {
        for number in numbers {
            let place = try await put(object(number), as: "\(number)", in: store)
            if numbers.lowerBound == 1 {
                #expect((place.offset - 4096) / (4 * 4096) == Int64((number - 1) % 4), "\(number)")
            }
        }
    }

    private func delete(_ numbers: [Int], in store: DirectoryBucketStore) async throws {
        for number in numbers { try await delete("\(number)", in: store) }
    }

    private func expect(_ numbers: [Int], in store: DirectoryBucketStore) async throws {
        for number in numbers { #expect(try await contents("\(number)", in: store) == object(number), "\(number)") }
    }

    /// Closes the store and compares its recorded sums with the records. They differ if a place was
    /// freed twice or never.
    private func closeAndExpectSoundSums(_ store: DirectoryBucketStore) async throws {
        await store.close()
        let database = try SQLiteDatabase(path: DirectoryBucketStore.indexPath(directory.path))
        defer { database.close() }
        let live = try database.placedRecords(in: Set(0..<10_000)).reduce(into: [Int: Int64]()) { live, record in
            live[record.place.number, default: 0] += record.place.blocks.length
        }
        #expect(live.keys.allSatisfy(try segments.map { Int($0) }.contains))
        #expect(SegmentState(try FileSystem.read("\(directory.path)/closed"))?.live == live)
    }

    @Test func `the objects of mostly empty segments are moved, and the segments removed`() async throws {
        let store = try await open()
        try await put(1...13, in: store)
        // Segments with one, two and three objects left; the last segment is still written.
        let (second, third) = (try await place("5", in: store).number, try await place("9", in: store).number)
        try await delete([1, 3, 4, 5, 6, 9], in: store)
        let kept = try await place("10", in: store)
        #expect(try await store.reclaimSpace() == [])
        let left = [2, 7, 8, 10, 11, 12, 13]
        try await expect(left, in: store)
        #expect(try await place("10", in: store) == kept)
        #expect(try !segments.contains("1") && !segments.contains("\(second)") && segments.contains("\(third)"))
        // There is no more space to reclaim.
        let compaction = SegmentCompaction(store: store)
        let before = try await compaction.records(in: Array(1...9)).map(\.place)
        #expect(try await store.reclaimSpace() == [])
        #expect(try await compaction.records(in: Array(1...9)).map(\.place) == before)
        try await closeAndExpectSoundSums(store)
        let again = try await open()
        try await expect(left, in: again)
        try await delete(left, in: again)
        try await closeAndExpectSoundSums(again)
        #expect(try segments.isEmpty)
    }

    @Test func `nothing is moved if parts of files can be freed`() async throws {
        let store = try await open(punchesSegments: true)
        try await put(1...5, in: store)
        try await delete([1, 3, 4], in: store)
        let place = try await place("2", in: store)
        #expect(try await store.reclaimSpace() == [])
        #expect(try await self.place("2", in: store) == place)
        #expect(try bytes(ofSegment: 1) < 8 * 4096)
    }

    @Test func `many more objects than fit into memory or a segment are moved`() async throws {
        let store = try await open(segmentSize: 4 << 20, punchesSegments: false)
        for number in 1...120 { try await put(object(number, size: 200_000), as: "\(number)", in: store) }
        try await delete((1...120).filter { $0 % 3 != 0 }, in: store)
        let before = try segments
        #expect(try await store.reclaimSpace() == [])
        for number in stride(from: 3, through: 120, by: 3) {
            #expect(try await contents("\(number)", in: store) == object(number, size: 200_000))
        }
        #expect(before.count >= 6)
        #expect(try segments.count <= 4)
        try await closeAndExpectSoundSums(store)
    }

    @Test func `an object that is replaced or removed meanwhile is left unchanged`() async throws {
        let store = try await open()
        try await put(1...5, in: store)
        try await delete([1], in: store)
        let compaction = SegmentCompaction(store: store)
        let (copies, problems) = try await compaction.copy(try await compaction.records(in: [1])[...])
        #expect(copies.count == 3 && problems.isEmpty)
        try await delete([2], in: store)
        try await put([7], as: "3", in: store)
        try await compaction.commit(copies)
        #expect(try await store.index.read { try $0.object("ferry", "2") } == nil)
        #expect(try await contents("3", in: store) == [7])
        try await expect([4, 5], in: store)
        #expect(try await place("4", in: store).number > 1)
        #expect(try !segments.contains("1"))
        try await closeAndExpectSoundSums(store)
    }

    @Test func `an object that is removed before it is read, even with its segment, is not damage`() async throws {
        let store = try await open()
        try await put(1...9, in: store)
        let compaction = SegmentCompaction(store: store)
        let second = try await place("5", in: store).number
        let records = try await compaction.records(in: [1, second])
        #expect(records.count == 8)
        try await delete([1, 2, 3, 4, 5], in: store)
        #expect(try !segments.contains("1"))
        let (copies, problems) = try await compaction.copy(records[...])
        #expect(problems.isEmpty)
        try await compaction.commit(copies)
        try await expect([6, 7, 8, 9], in: store)
        #expect(try !segments.contains("\(second)"))
        try await closeAndExpectSoundSums(store)
    }

    @Test func `copies without a record are freed`() async throws {
        let store = try await open()
        try await put(1...5, in: store)
        let compaction = SegmentCompaction(store: store)
        let copies = try await compaction.copy(try await compaction.records(in: [1])[...]).copies
        // Another compaction was faster.
        let others = try await compaction.copy(try await compaction.records(in: [1])[...]).copies
        try await compaction.commit(others)
        try await compaction.commit(copies)
        try await expect([1, 2, 3, 4, 5], in: store)
        try await closeAndExpectSoundSums(store)
    }

    @Test(.timeLimit(.minutes(1)))
    func `an object that is moved during a read is read to its end before its segment is removed`() async throws {
        let store = try await open()
        try await put(1...5, in: store)
        try await delete([1, 3, 4], in: store)
        let record = try await record("2", in: store)
        do {
            let reader = try store.open(record)
            #expect(try await store.reclaimSpace() == [])
            #expect(try segments.contains("1"))
            #expect(try reader.read(1 << 20, at: 0) == object(2))
            try await expect([2], in: store)
        }
        while try segments.contains("1") { await Task.yield() }
        #expect(throws: SystemError.self) { _ = try store.open(record) }
        try await expect([2, 5], in: store)
        try await closeAndExpectSoundSums(store)
    }

    @Test(arguments: [false, true])
    func `a killed compaction loses nothing, and the next start frees its copies`(isCommitted: Bool)
        async throws
    {
        do {
            let store = try await open()
            try await put(1...5, in: store)
            try await delete([1, 3], in: store)
            let compaction = SegmentCompaction(store: store)
            let copies = try await compaction.copy(try await compaction.records(in: [1])[...]).copies
            #expect(copies.count == 2)
            if isCommitted {
                // The process ends before the old places are freed.
                _ = try await store.index.write { database in
                    try copies.filter { try !database.move($0.record, to: $0.file) }.map(\.file)
                }
            }
        }
        let store = try await open()
        try await expect([2, 4, 5], in: store)
        let last = try await place("5", in: store).number
        #expect(try await place("2", in: store).number == (isCommitted ? last : 1))
        #expect(try segments.contains("1") == !isCommitted)
        #expect(try await store.reclaimSpace() == [])
        try await expect([2, 4, 5], in: store)
        #expect(try !segments.contains("1"))
        try await closeAndExpectSoundSums(store)
    }

    @Test(arguments: [0, EntryFormat.headSize, EntryFormat.headSize + 15_999])
    func `a damaged object keeps its place and is reported`(position: Int) async throws {
        let store = try await open()
        try await put(1...5, in: store)
        try await delete([1, 4], in: store)
        let place = try await place("2", in: store)
        try segment(1).write(
            [~(try segment(1).read(1, at: place.offset + Int64(position))[0])], at: place.offset + Int64(position))
        for _ in 0..<2 {
            let problems = try await store.reclaimSpace()
            #expect(problems == ["objects/segments/1 at \(place.offset) is not moved: it differs from what was stored"])
            #expect(try await self.place("2", in: store) == place)
            try await expect([3, 5], in: store)
            #expect(try await self.place("3", in: store).number > 1)
        }
        // After another put the object is complete, and the segment is removed.
        try await put(2...2, in: store)
        #expect(try !segments.contains("1"))
        try await expect([2, 3, 5], in: store)
        try await closeAndExpectSoundSums(store)
    }

    @Test func `parts of uploads are moved, too`() async throws {
        let store = try await open()
        try await put(1...2, in: store)
        let files = try await store.keep([
            (object(3)[...], SHA256.hash(object(3))), (object(4)[...], SHA256.hash(object(4))),
        ])
        _ = try await store.index.write { database in
            try database.execute(
                "INSERT INTO upload(id, bucket, key, created, type, headers) VALUES ('u', 'ferry', 'k', 0, '', '{}')")
            for (number, file) in files.enumerated() {
                try database.execute(
                    "INSERT INTO part VALUES ('u', ?, ?, 16000, 'tag', 0, NULL)", [.int(number), .text(file)])
            }
            return []
        }
        try await put(5...5, in: store)
        try await delete([1, 2], in: store)
        func parts() async throws -> [String] {
            try await store.index.read { database in
                var files: [String] = []
                try database.query("SELECT file FROM part ORDER BY number") { files.append($0.text(0)) }
                return files
            }
        }
        let compaction = SegmentCompaction(store: store)
        let copies = try await compaction.copy(try await compaction.records(in: [1])[...]).copies
        #expect(copies.count == 2)
        // Either part may be the first in the segment.
        let copy = try #require(copies.first { $0.record.place.description == files[1] })
        // One part is uploaded again meanwhile.
        let other = try await store.keep(object(6)[...], SHA256.hash(object(6)))
        await store.discard(
            try await store.index.write { database in
                try database.execute("UPDATE part SET file = ? WHERE number = 0", [.text(other)])
                return [files[0]]
            })
        try await compaction.commit(copies)
        let moved = try await parts()
        #expect(moved[0] == other && moved[1] == copy.file)
        #expect(try store.open(moved[1], size: 16_000).read(1 << 20, at: 0) == object(4))
        // A reader that looked the part up before still finds it, but not another part with the
        // same number.
        let part = UploadedPart(number: 1, file: files[1], size: 16_000, etag: "tag", modified: 0)
        #expect(throws: SystemError.self) { _ = try store.open(part.file, size: part.size) }
        #expect(try store.open(part, of: "u").read(1 << 20, at: 0) == object(4))
        let replaced = UploadedPart(number: 1, file: files[1], size: 16_000, etag: "other", modified: 0)
        #expect(throws: SystemError.self) { _ = try store.open(replaced, of: "u") }
        #expect(try !segments.contains("1"))
        try await closeAndExpectSoundSums(store)
    }

    @Test(.timeLimit(.minutes(1)), arguments: 0..<5)
    func `compaction is safe with concurrent changes of clients`(seed: Int) async throws {
        let store = try await open()
        try await put(1...80, in: store)
        try await delete((1...80).filter { $0 % 4 != 1 }, in: store)
        try await withThrowingTaskGroup { group in
            group.addTask {
                for _ in 0..<10 {
                    let problems = try await store.reclaimSpace()
                    #expect(problems.isEmpty)
                }
            }
            for client in 0..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(seed * 10 + client))
                    // Each client has keys of its own.
                    let keys = (1...80).filter { $0 % 4 == 1 && $0 / 4 % 4 == client }
                    var versions = Dictionary(uniqueKeysWithValues: keys.map { ($0, Int?($0)) })
                    for version in 100..<150 {
                        guard let key = keys.randomElement(using: &random) else { return }
                        if let present = versions[key] ?? nil {
                            let expected = object(present)
                            // Like a server, look up an outdated record again.
                            while true {
                                let record = try await record("\(key)", in: store)
                                guard let reader = try? store.open(record) else { continue }
                                #expect(try reader.read(1 << 20, at: 0) == expected)
                                break
                            }
                            if Bool.random(using: &random) {
                                try await delete("\(key)", in: store)
                                versions[key] = .some(nil)
                                continue
                            }
                        }
                        try await put(object(version), as: "\(key)", in: store)
                        versions[key] = version
                    }
                }
            }
            try await group.waitForAll()
        }
        try await closeAndExpectSoundSums(store)
    }
}
