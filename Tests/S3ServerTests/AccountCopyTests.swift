import BucketStore
import Cryptography
import SQLite
import SystemTestKit
import Testing

@testable import S3Server

@Suite
struct AccountCopyTests {
    private let directory: TemporaryDirectory
    private let store: DirectoryBucketStore

    init() async throws {
        directory = try TemporaryDirectory()
        store = try DirectoryBucketStore(directory: "\(directory.path)/objects")
        _ = try await store.createBucket("data", now: 0)
        for name in ["u/chunks/a", "u/chunks/b", "u/condemned", "u/manifests/c", "ux/chunks/d"] { try await put(name) }
    }

    private func put(_ key: String) async throws {
        let bytes = Array("12345".utf8)
        let record = ObjectRecord(
            key: key, file: try await store.keep(bytes[...], SHA256.hash(bytes)), size: 5, etag: "e", modified: 0,
            contentType: "", headers: [:])
        _ = try await store.index.write { try $0.put(record, in: "data") }
    }

    private func copies() async throws -> [String] {
        try await store.index.list(for: nil) {
            try $0.list("data", prefix: "v/", delimiter: nil, after: "", limit: 10).entries.compactMap {
                if case .object(let record) = $0 { record.key } else { nil }
            }
        }
    }

    private func copy(limit: Int64) async throws -> String? {
        try await AccountCopy(store: store, bucket: "data", limit: limit, now: { 7 })
            .copyPage(from: "u", to: "v", after: "")
    }

    @Test func `the attachments of one account are copied`() async throws {
        #expect(try await copy(limit: 1000) == nil)
        #expect(try await copies() == ["v/chunks/a", "v/chunks/b", "v/manifests/c"])
        let record = try #require(try store.index.readHere { try $0.object("data", "v/chunks/b") })
        #expect(try store.open(record).read(10, at: 0) == Array("12345".utf8) && record.modified == 7)
    }

    @Test func `copies end at the quota`() async throws {
        #expect(try await copy(limit: 12) == nil)
        #expect(try await copies() == ["v/chunks/a", "v/chunks/b"])
    }

    @Test func `an object that is marked for deletion is copied again, and a lost one is left out`() async throws {
        try await put("v/chunks/a")
        _ = try await store.index.write { database in
            try database.execute("INSERT INTO condemned VALUES ('data', 'v/chunks/a', 0)")
            var lost = try #require(try database.object("data", "u/chunks/b"))
            lost.file = "00/0123456789abcdef0123456789abcdef"
            return try database.put(lost, in: "data")
        }
        #expect(try await copy(limit: 1000) == nil)
        #expect(try await copies() == ["v/chunks/a", "v/manifests/c"])
    }
}
