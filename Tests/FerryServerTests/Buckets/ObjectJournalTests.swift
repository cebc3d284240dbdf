import Cryptography
import SystemIO
import Testing

@testable import FerryServer

/// What a power cut takes is played by writing into the files, which a server that was killed leaves as they are.
struct ObjectJournalTests {
    private func put(_ bytes: [UInt8], as key: String, in store: BucketStore) async throws -> String {
        let entry = try store.write(bytes, SHA256.hash(bytes))
        try await store.synchronize(entry)
        let record = ObjectRecord(
            key: key, file: entry.file, size: Int64(bytes.count), etag: "", modified: 0, contentType: "", headers: [:])
        await store.discard(try await store.index.write { try $0.put(record, in: "ferry") })
        return entry.file
    }

    private func contents(_ key: String, in store: BucketStore) async throws -> [UInt8]? {
        let record = try #require(try await store.index.read { try $0.object("ferry", key) })
        return try FileSystem.readIfPresent(store.path(of: record.file))
    }

    @Test func `a small object that a power cut took from its file comes back`() async throws {
        let directory = try TemporaryDirectory()
        let objects = [
            "lost": [UInt8](repeating: 1, count: 70_000), "short": Array("a few words".utf8), "empty": [],
            "torn": [UInt8](repeating: 2, count: 5000), "whole": Array("whole".utf8),
        ]
        var files: [String: String] = [:]
        do {
            let store = try BucketStore(directory: directory.path)
            _ = try await store.createBucket("ferry", now: 0)
            for (key, bytes) in objects { files[key] = try await put(bytes, as: key, in: store) }
            // Replaced, and then gone from the disk with its file: nobody misses the old one.
            _ = try await put(Array("old".utf8), as: "whole", in: store)
            files["whole"] = try await put(Array("whole".utf8), as: "whole", in: store)
        }
        func path(_ key: String) throws -> String { "\(directory.path)/files/\(try #require(files[key]))" }
        for key in ["lost", "empty"] { try FileSystem.remove(path(key)) }
        try FileDescriptor(path: path("short"), [.readWrite]).truncate(to: 3)
        try FileDescriptor(path: path("torn"), [.readWrite]).write([UInt8](repeating: 0, count: 4096), at: 0)

        let store = try BucketStore(directory: directory.path)
        for (key, bytes) in objects { #expect(try await contents(key, in: store) == bytes, "\(key)") }
    }

    @Test func `an entry that is torn is left out, and those behind it are not`() async throws {
        let directory = try TemporaryDirectory()
        do {
            let store = try BucketStore(directory: directory.path)
            _ = try await store.createBucket("ferry", now: 0)
            for key in ["a", "b", "c"] {
                let file = try await put([UInt8](repeating: key.utf8.first ?? 0, count: 9000), as: key, in: store)
                try FileSystem.remove(store.path(of: file))
            }
        }
        // Three blocks an entry: this is within the second.
        let journal = try FileDescriptor(path: "\(directory.path)/journal-0", [.readWrite])
        try journal.write([0], at: 4096 * (1 + 3) + 5000)
        let store = try BucketStore(directory: directory.path)
        #expect(try await contents("a", in: store)?.count == 9000)
        #expect(try await contents("b", in: store) == nil)
        #expect(try await contents("c", in: store)?.count == 9000)
    }

    @Test func `an object that looks like an entry is none`() async throws {
        let directory = try TemporaryDirectory()
        var victim = ""
        do {
            let store = try BucketStore(directory: directory.path)
            _ = try await store.createBucket("ferry", now: 0)
            victim = try await put(Array("mine".utf8), as: "mine", in: store)
            let forged = Array("forged".utf8)
            let entry = JournalFormat.entry([UInt8](repeating: 0, count: 16), victim, forged, SHA256.hash(forged))
            let padding = [UInt8](repeating: 0, count: 4096 - JournalFormat.headSize)
            _ = try await put(padding + entry, as: "theirs", in: store)
        }
        try FileSystem.remove("\(directory.path)/files/\(victim)")
        let store = try BucketStore(directory: directory.path)
        #expect(try await contents("mine", in: store) == Array("mine".utf8))
    }

    @Test func `a journal goes round, and what does not fit is left to the caller`() async throws {
        let directory = try TemporaryDirectory()
        // The head and four entries of two blocks.
        let journal = try ObjectJournal(directory: directory.path, halfSize: 4096 * 9)
        func entry(_ count: Int) -> ObjectJournal.Entry {
            let bytes = [UInt8](repeating: 7, count: count)
            return ObjectJournal.Entry(file: "00/\(count)", bytes: bytes, digest: SHA256.hash(bytes))
        }
        var taken = 0
        while taken < 50 {
            if await journal.append(entry(5000)) { taken += 1 }
        }
        #expect(await !journal.append(entry(40_000)))
        for path in ObjectJournal.paths(in: directory.path) {
            #expect(try FileSystem.status(path).size <= 4096 * 9)
        }
        try journal.close()
        #expect(try Directory(path: directory.path).entries().isEmpty)
    }

    @Test func `a server that was closed leaves no journal`() async throws {
        let directory = try TemporaryDirectory()
        let store = try BucketStore(directory: directory.path)
        _ = try await store.createBucket("ferry", now: 0)
        _ = try await put([1, 2, 3], as: "a", in: store)
        await store.close()
        #expect(
            try Directory(path: directory.path).entries().map(\.name).sorted() == [
                "closed", "files", "incoming", "index.db",
            ])
    }
}
