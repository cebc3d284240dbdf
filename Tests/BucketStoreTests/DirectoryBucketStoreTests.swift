import SystemIO
import SystemTestKit
import Testing

@testable import BucketStore

struct DirectoryBucketStoreTests {
    private func put(_ text: String, as key: String, in store: DirectoryBucketStore) async throws {
        var incoming = try store.makeIncoming(.md5)
        try incoming.append(Array(text.utf8))
        let size = incoming.size
        let file = try store.keep(&incoming)
        let record = ObjectRecord(
            key: key, file: file, size: size, etag: "", modified: 0, contentType: "", headers: [:])
        await store.discard(try await store.index.write { try $0.put(record, in: "ferry") })
    }

    private func files(_ directory: String) throws -> Int {
        try (0..<256).reduce(0) { count, shard in
            let name = String(shard + 256, radix: 16).dropFirst()
            return count + (try Directory(path: "\(directory)/files/\(name)").entries().count)
        }
    }

    @Test func `a file without a record is removed after a crash, and no other`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let store = try DirectoryBucketStore(directory: directory.path)
            _ = try await store.createBucket("ferry", now: 0)
            try await put("one", as: "a", in: store)
            try await put("two", as: "b", in: store)
            // The process ends between the rename and the commit.
            var orphan = try store.makeIncoming([])
            try orphan.append([1])
            _ = try store.keep(&orphan)
            _ = try store.makeIncoming([])
        }
        #expect(try files(directory.path) == 3)
        let store = try DirectoryBucketStore(directory: directory.path)
        #expect(try files(directory.path) == 2)
        let record = try #require(try await store.index.read { try $0.object("ferry", "b") })
        #expect(try store.open(record).read(100, at: 0) == Array("two".utf8))
        #expect(try Directory(path: "\(directory.path)/incoming").entries().isEmpty)
    }

    @Test func `a replaced object's file is removed`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryBucketStore(directory: directory.path)
        _ = try await store.createBucket("ferry", now: 0)
        for text in ["one", "two", "three"] { try await put(text, as: "a", in: store) }
        #expect(try files(directory.path) == 1)
    }

    @Test func `an upload that is abandoned leaves no file`() throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryBucketStore(directory: directory.path)
        do {
            var incoming = try store.makeIncoming([])
            try incoming.append([1, 2, 3])
        }
        #expect(try Directory(path: "\(directory.path)/incoming").entries().isEmpty)
    }
}
