import Dispatch
import SQLite
import SystemTestKit
import Testing

@testable import BucketStore

struct ListingTests {
    @Test func `a change waits for no listing`() async throws {
        let directory = try TemporaryDirectory()
        let index = try BucketIndex(path: "\(directory.path)/index.db")
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup { group in
            for _ in 0..<5 { group.addTask { try await index.list(for: "anna/") { _ in gate.wait() } } }
            for number in 0..<20 {
                _ = try await index.write { database in
                    try database.execute("INSERT INTO bucket VALUES (?, 0)", [.text("b\(number)")])
                    return []
                }
            }
            for _ in 0..<5 { gate.signal() }
            try await group.waitForAll()
        }
        #expect(try await index.list(for: "bob/") { try $0.hasBucket("b19") })
        await index.close()
    }

    /// Whatever the keys, prefix, delimiter and page size: the pages together are what a look at all keys gives.
    @Test(arguments: 0..<60) func `pages together are the whole listing`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        let index = try BucketIndex(path: "\(directory.path)/index.db")
        let pieces = ["a", "b", "/", "//", "-", "é", "a/", ".", "0", "\u{10FFFE}"]
        let keys = Set(
            (0..<Int.random(in: 0...40, using: &random)).map { _ in
                (0..<Int.random(in: 1...5, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "a" }
                    .joined()
            }
        ).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        _ = try await index.write { database in
            try database.execute("INSERT INTO bucket VALUES ('b', 0)")
            for key in keys {
                _ = try database.put(
                    ObjectRecord(
                        key: key, file: key, size: 1, etag: "", modified: 0, contentType: "", headers: [:]), in: "b")
            }
            return []
        }
        let prefix = ["", "a", "a/", "b/", "é"].randomElement(using: &random) ?? ""
        let delimiter = [nil, "/", "//", "-"].randomElement(using: &random) ?? nil
        let limit = Int.random(in: 1...5, using: &random)
        let expected = Self.listing(keys, prefix: prefix, delimiter: delimiter)

        var found: [String] = []
        var after = ""
        while found.count <= keys.count {
            let start = after
            let page = try await index.read {
                try $0.list("b", prefix: prefix, delimiter: delimiter, after: start, limit: limit)
            }
            #expect(page.entries.count <= limit)
            found += page.entries.map(\.name)
            guard let next = page.next else { break }
            after = next
        }
        #expect(found == expected, "seed \(seed): prefix \(prefix), delimiter \(delimiter ?? "none"), limit \(limit)")
    }

    private static func listing(_ keys: [String], prefix: String, delimiter: String?) -> [String] {
        var names: [String] = []
        for key in keys where key.utf8.starts(with: prefix.utf8) {
            var name = key
            let rest = String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            if let delimiter, let range = rest.firstRange(of: delimiter) {
                name = prefix + rest[..<range.upperBound] + "*"
            }
            if names.last != name { names.append(name) }
        }
        return names
    }
}

extension ObjectListing.Entry {
    /// The name of the entry, with an asterisk for a common prefix.
    fileprivate var name: String {
        switch self {
        case .object(let record): record.key
        case .prefix(let prefix): prefix + "*"
        }
    }
}
