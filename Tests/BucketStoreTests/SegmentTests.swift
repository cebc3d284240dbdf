import Cryptography
import Glibc
import SQLite
import SystemIO
import SystemTestKit
import Testing

@testable import BucketStore

/// A test of a store in a directory of its own that examines the store's segments.
protocol SegmentTests {
    var directory: TemporaryDirectory { get }
}

extension SegmentTests {
    func open(segmentSize: Int64 = 64 << 20, punchesSegments: Bool = true) async throws -> DirectoryBucketStore {
        let store = try DirectoryBucketStore(
            directory: directory.path, segmentSize: segmentSize, punchesSegments: punchesSegments)
        _ = try await store.createBucket("ferry", now: 0)
        return store
    }

    @discardableResult
    func put(_ bytes: [UInt8], as key: String, in store: DirectoryBucketStore) async throws -> SegmentPlace {
        let file = try await store.keep(bytes[...], SHA256.hash(bytes))
        let record = ObjectRecord(
            key: key, file: file, size: Int64(bytes.count), etag: "", modified: 0, contentType: "", headers: [:])
        await store.discard(try await store.index.write { try $0.put(record, in: "ferry") })
        guard case .segment(let place)? = ObjectPlace(file) else { throw SystemError(.other, operation: "parse") }
        return place
    }

    func delete(_ key: String, in store: DirectoryBucketStore) async throws {
        await store.discard(
            try await store.index.write { database in
                let record = try #require(try database.object("ferry", key))
                try database.execute("DELETE FROM object WHERE key = ?", [.text(key)])
                return [record.file]
            })
    }

    func record(_ key: String, in store: DirectoryBucketStore) async throws -> ObjectRecord {
        try #require(try await store.index.read { try $0.object("ferry", key) })
    }

    func place(_ key: String, in store: DirectoryBucketStore) async throws -> SegmentPlace {
        guard case .segment(let place)? = ObjectPlace(try await record(key, in: store).file) else {
            throw SystemError(.other, operation: "parse")
        }
        return place
    }

    func contents(_ key: String, in store: DirectoryBucketStore) async throws -> [UInt8] {
        let record = try await record(key, in: store)
        return try store.open(record).read(1 << 20, at: 0)
    }

    func noise(_ count: Int, _ seed: UInt64 = 1) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    func segment(_ number: Int) throws -> FileDescriptor {
        try FileDescriptor(path: "\(directory.path)/segments/\(number)", .readWrite)
    }

    var segments: [String] {
        get throws { try Directory(path: "\(directory.path)/segments").entries().map(\.name).sorted() }
    }

    /// Returns the number of bytes that a segment takes on the disk.
    func bytes(ofSegment number: Int) throws -> Int {
        var status = stat()
        try #require(stat("\(directory.path)/segments/\(number)", &status) == 0)
        return Int(status.st_blocks) * 512
    }
}
