import Cryptography
import SystemIO
import SystemTestKit
import Testing

@testable import BucketStore

/// Tests of stores of earlier versions, which kept small objects in files of their own, and in a
/// journal until the files were durable. A power cut is simulated by writing into the files.
struct ObjectReplayTests {
    private let epoch = [UInt8](repeating: 9, count: EntryFormat.epochSize)

    /// Creates a store with these objects, each in a file of its own, and a journal with the
    /// objects of `keys`, in this order.
    private func makeStore(_ directory: String, _ objects: [String: [UInt8]], journal keys: [String]) async throws
        -> [String: String]
    {
        let store = try DirectoryBucketStore(directory: directory)
        _ = try await store.createBucket("ferry", now: 0)
        var files: [String: String] = [:]
        for (key, bytes) in objects {
            var incoming = try store.makeIncoming([])
            try incoming.append(bytes)
            let file = try store.keep(&incoming)
            files[key] = file
            let record = ObjectRecord(
                key: key, file: file, size: Int64(bytes.count), etag: "", modified: 0, contentType: "", headers: [:])
            _ = try await store.index.write { try $0.put(record, in: "ferry") }
        }
        var bytes = EntryFormat.header(epoch)
        for key in keys { bytes += entry(files[key] ?? "", objects[key] ?? [], epoch) }
        try FileSystem.replace("\(directory)/journal-1", with: bytes)
        return files
    }

    private func entry(_ name: String, _ bytes: [UInt8], _ epoch: [UInt8]) -> [UInt8] {
        let entry = EntryFormat.head(epoch, name, size: bytes.count, SHA256.hash(bytes)) + bytes
        return entry + [UInt8](repeating: 0, count: Int(EntryFormat.entrySize(bytes.count)) - entry.count)
    }

    private func contents(_ key: String, in store: DirectoryBucketStore) async throws -> [UInt8]? {
        let record = try #require(try await store.index.read { try $0.object("ferry", key) })
        do {
            let object = try store.open(record)
            return try object.read(1 << 20, at: 0)
        } catch let error as SystemError where error.code == .notFound {
            return nil
        }
    }

    @Test func `a small object that a power cut took from its file comes back`() async throws {
        let directory = try TemporaryDirectory()
        let objects = [
            "lost": [UInt8](repeating: 1, count: 70_000), "short": Array("a few words".utf8), "empty": [],
            "torn": [UInt8](repeating: 2, count: 5000), "whole": Array("whole".utf8),
        ]
        let files = try await makeStore(directory.path, objects, journal: objects.keys.sorted())
        func path(_ key: String) throws -> String { "\(directory.path)/files/\(try #require(files[key]))" }
        for key in ["lost", "empty"] { try FileSystem.remove(path(key)) }
        try FileDescriptor(path: path("short"), [.readWrite]).truncate(to: 3)
        try FileDescriptor(path: path("torn"), [.readWrite]).write([UInt8](repeating: 0, count: 4096), at: 0)

        let store = try DirectoryBucketStore(directory: directory.path)
        for (key, bytes) in objects { #expect(try await contents(key, in: store) == bytes, "\(key)") }
        #expect(!FileSystem.exists("\(directory.path)/journal-1"))
    }

    @Test func `a torn entry is left out, and later ones are not`() async throws {
        let directory = try TemporaryDirectory()
        let keys = ["a", "b", "c"]
        let objects = Dictionary(
            uniqueKeysWithValues: keys.map { ($0, [UInt8](repeating: $0.utf8.first ?? 0, count: 9000)) })
        let files = try await makeStore(directory.path, objects, journal: keys)
        for file in files.values { try FileSystem.remove("\(directory.path)/files/\(file)") }
        // An entry takes three blocks; this position is inside the second one.
        let journal = try FileDescriptor(path: "\(directory.path)/journal-1", [.readWrite])
        try journal.write([0], at: 4096 * (1 + 3) + 5000)
        let store = try DirectoryBucketStore(directory: directory.path)
        #expect(try await contents("a", in: store) == objects["a"])
        #expect(try await contents("b", in: store) == nil)
        #expect(try await contents("c", in: store) == objects["c"])
    }

    @Test func `an object that looks like an entry is not taken for one`() async throws {
        let directory = try TemporaryDirectory()
        let padding = [UInt8](repeating: 0, count: 4096 - EntryFormat.headSize)
        let files = try await makeStore(directory.path, ["mine": Array("mine".utf8)], journal: ["mine"])
        let victim = try #require(files["mine"])
        let path = "\(directory.path)/journal-1"
        let forged = padding + entry(victim, Array("forged".utf8), [UInt8](repeating: 0, count: 16))
        try FileSystem.replace(path, with: try FileSystem.read(path) + entry(victim, forged, epoch))
        // The entry above is for this file and is used; the other entry is inside its object.
        try FileSystem.remove("\(directory.path)/files/\(victim)")
        let store = try DirectoryBucketStore(directory: directory.path)
        #expect(try await contents("mine", in: store) == forged)
    }

    @Test func `new objects are stored in segments, and existing ones keep their places`() async throws {
        let directory = try TemporaryDirectory()
        let old = Array("old".utf8)
        let files = try await makeStore(directory.path, ["old": old], journal: ["old"])
        do {
            let store = try DirectoryBucketStore(directory: directory.path)
            let file = try await store.keep([1, 2, 3], SHA256.hash([1, 2, 3]))
            let record = ObjectRecord(
                key: "new", file: file, size: 3, etag: "", modified: 0, contentType: "", headers: [:])
            _ = try await store.index.write { try $0.put(record, in: "ferry") }
            await store.close()
        }
        let store = try DirectoryBucketStore(directory: directory.path)
        #expect(try await contents("old", in: store) == old)
        #expect(try await contents("new", in: store) == [1, 2, 3])
        #expect(FileSystem.exists("\(directory.path)/files/\(try #require(files["old"]))"))
    }
}
