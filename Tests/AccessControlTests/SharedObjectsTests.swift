import DocumentModel
import DocumentStore
import FirestoreServer
import ObjectStorage
import Synchronization
import Testing

@testable import AccessControl

/// Access to objects of others: `they` share the list `l` with `me` and `you`.
struct SharedObjectsTests {
    private let store = MemoryDocumentStore(DatabaseName(project: "p"))
    private let access: DocumentAccess
    private let objects: SharedObjects
    private let manifestReads = Counter()
    private let chunks = (1...3).map { ContentHash(of: [UInt8($0)]) }
    private let single = ContentHash(of: [9])
    private let manifest: Manifest

    private final class Counter: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func increment() { count.withLock { $0 += 1 } }
    }

    init() async throws {
        let references = chunks.map { ChunkReference(id: $0, length: 100, storedLength: 50) }
        let manifest = Manifest(sha256: ContentHash(of: []), chunks: references)
        self.manifest = manifest
        let (store, reads) = (store, manifestReads)
        let key = Self.key("they", "manifests", manifest.id)
        objects = SharedObjects(database: store.database, store: { store }) { asked in
            reads.increment()
            return asked == key ? manifest.bytes : nil
        }
        access = DocumentAccess(objects: objects)
        try await commit(
            [
                try set("lists/l", ["userId": "they", "sharedWith": .array(["me", "you"])]),
                try set("lists/private", ["userId": "they"]),
                try task("t", "l", [key, Self.key("they", "chunks", single), Self.key("you", "chunks", single)]),
                try task("p", "private", [Self.key("they", "chunks", ContentHash(of: [7]))]),
            ], .administrator)
    }

    private static func key(_ user: String, _ kind: String, _ hash: ContentHash) -> String {
        "\(user)/\(kind)/\(hash.hex.prefix(2))/\(hash.hex)"
    }

    private func name(_ path: String) throws -> DocumentName { try DocumentName(database: store.database, path: path) }

    private func set(_ path: String, _ fields: [String: Value]) throws -> Write {
        Write(.update(try name(path), fields: fields))
    }

    private func task(_ id: String, _ list: String, _ keys: [String], of owner: String = "they") throws -> Write {
        let attachments = keys.enumerated().map { ("a\($0.offset)", Value.map(["manifest": .string($0.element)])) }
        return try set(
            "tasks/\(id)",
            [
                "userId": .string(owner), "listId": .string(list),
                "attachments": .map(Dictionary(uniqueKeysWithValues: attachments)),
            ])
    }

    /// Commits writes in the way of `FirestoreService`.
    private func commit(_ writes: [Write], _ caller: Caller) async throws {
        let (access, store) = (access, store)
        let review = try await access.review(writes, in: store, by: caller)
        defer { review.end() }
        let guarding = CommitGuard(account: caller.account) { try review.check($0) }
        _ = try await store.commit(writes, transaction: nil, guarding: guarding)
    }

    private func mayCommit(_ writes: [Write], _ user: String) async -> Bool {
        (try? await commit(writes, .user(id: user, expires: nil))) != nil
    }

    private func reads(_ kind: String, _ hash: ContentHash, of owner: String = "they", by user: String = "me")
        async throws -> Bool
    { try await objects.mayRead(Self.key(owner, kind, hash), by: user) }

    @Test func `a member reads what the list's tasks reference, and nothing else`() async throws {
        #expect(try await reads("manifests", manifest.id))
        #expect(try await reads("chunks", single))
        for chunk in chunks { #expect(try await reads("chunks", chunk)) }
        #expect(try await reads("chunks", single, of: "you"), "of another member")
        #expect(try await reads("chunks", single, of: "you", by: "they"))
        #expect(try await !reads("chunks", ContentHash(of: [7])), "of a list that is not shared")
        #expect(try await !reads("chunks", ContentHash(of: [8])))
        #expect(try await !reads("manifests", single))
        #expect(try await !reads("chunks", chunks[0], of: "you"), "the same bytes, of somebody else")
        #expect(try await !reads("chunks", single, by: "eve"))
        #expect(try await !reads("chunks", single, of: "eve"))
        let key = Self.key("they", "chunks", single)
        for odd in [key.uppercased(), key + "/", "/" + key, key.replacing("chunks", with: "other"), "they/", "", "//"] {
            #expect(try await !objects.mayRead(odd, by: "me"), "\(odd)")
        }
    }

    @Test func `an object that the list no longer references is closed at once`() async throws {
        #expect(try await reads("chunks", chunks[0]))
        #expect(try await reads("chunks", single))
        try await commit([try task("t", "l", [])], .user(id: "they", expires: nil))
        #expect(try await !reads("chunks", chunks[0]))
        #expect(try await !reads("chunks", single))
        // A reference in the history below a task of the list grants access as long as the task
        // exists.
        let value = Value.map(["manifest": .string(Self.key("they", "manifests", manifest.id))])
        let history = try set("tasks/t/history/h", ["userId": "they", "listId": "l", "value": value])
        try await commit([history], .user(id: "they", expires: nil))
        #expect(try await reads("chunks", chunks[0]))
        #expect(try await !reads("chunks", single))
        try await commit([try task("t", "private", [])], .user(id: "they", expires: nil))
        #expect(try await !reads("chunks", chunks[0]))
    }

    @Test func `references collected while a commit was being stored are collected again after it`() async throws {
        let new = ContentHash(of: [8])
        let writes = [try task("t", "l", [Self.key("they", "chunks", new)])]
        let review = try await access.review(writes, in: store, by: .administrator)
        let refusing = CommitGuard(account: nil) { commit in
            try review.check(commit)
            throw DocumentStoreError(.aborted, "The commit is tried again.")
        }
        await #expect(throws: DocumentStoreError.self) {
            try await store.commit(writes, transaction: nil, guarding: refusing)
        }
        #expect(try await !reads("chunks", new))
        _ = try await store.commit(writes)
        review.end()
        #expect(try await reads("chunks", new))
    }

    @Test func `a former member of the list can read none of its objects`() async throws {
        #expect(try await reads("chunks", single))
        #expect(try await reads("chunks", single, of: "you"))
        try await commit(
            [try set("lists/l", ["userId": "they", "sharedWith": .array(["you"])])], .user(id: "they", expires: nil))
        #expect(try await !reads("chunks", single))
        #expect(try await !reads("chunks", single, of: "you"))
        #expect(try await reads("chunks", single, by: "you"))
    }

    @Test func `an attachment of a member stays readable for the owner of its task only`() async throws {
        #expect(try await reads("chunks", single, of: "you", by: "they"))
        // First the task leaves the list, then the member does.
        try await commit(
            [try task("t", "private", [Self.key("you", "chunks", single)])], .user(id: "they", expires: nil))
        try await commit([try set("lists/l", ["userId": "they"])], .user(id: "they", expires: nil))
        #expect(try await reads("chunks", single, of: "you", by: "they"))
        #expect(try await !reads("chunks", single, of: "you", by: "me"))
        try await commit([try task("t", "private", [])], .user(id: "they", expires: nil))
        #expect(try await !reads("chunks", single, of: "you", by: "they"), "referenced no more")
    }

    @Test func `a reference that is not below a task opens nothing`() async throws {
        // The writer guesses a hash. The rules do not check references in such documents.
        let guess = Value.map(["manifest": .string(Self.key("they", "chunks", ContentHash(of: [7])))])
        for root in ["other/x", "lists/me.x"] {
            try await commit(
                [
                    try set(root, ["userId": "me", "listId": "l"]),
                    try set("\(root)/history/h", ["userId": "me", "listId": "l", "value": guess]),
                ], .user(id: "me", expires: nil))
        }
        #expect(try await !reads("chunks", ContentHash(of: [7]), by: "me"))
        // The same holds in a list of an owner that the other user has joined.
        try await commit([try set("lists/m", ["userId": "me", "sharedWith": .array(["they"])])], .administrator)
        try await commit(
            [
                try set("other/y", ["userId": "me", "listId": "m"]),
                try set("other/y/history/h", ["userId": "me", "listId": "m", "value": guess]),
            ], .user(id: "me", expires: nil))
        #expect(try await !reads("chunks", ContentHash(of: [7]), by: "me"))
    }

    @Test func `another task that references the same object is found`() async throws {
        #expect(try await reads("chunks", single))
        let key = Self.key("they", "chunks", single)
        try await commit([try task("u", "l", [key])], .user(id: "they", expires: nil))
        try await commit([Write(.delete(try name("tasks/t")))], .user(id: "they", expires: nil))
        #expect(try await reads("chunks", single))
        #expect(try await !reads("manifests", manifest.id))
    }

    @Test func `a change is collected at most once for any number of missing objects`() async throws {
        #expect(try await !reads("chunks", ContentHash(of: [8])))
        let before = manifestReads.value
        for number in 0..<100 { #expect(try await !reads("chunks", ContentHash(of: [8, UInt8(number)]))) }
        #expect(manifestReads.value == before)
        try await commit([try task("u", "l", [])], .user(id: "they", expires: nil))
        for number in 0..<100 { #expect(try await !reads("chunks", ContentHash(of: [8, UInt8(number)]))) }
        #expect(manifestReads.value == before + 1)
    }

    @Test func `only what the writer may read can be referenced`() async throws {
        let (known, guessed) = (Self.key("they", "chunks", single), Self.key("they", "chunks", ContentHash(of: [7])))
        #expect(await mayCommit([try task("mine", "m", [known], of: "me")], "me"))
        #expect(await mayCommit([try task("new", "l", [known, Self.key("me", "chunks", single)])], "me"))
        #expect(await !mayCommit([try task("new", "l", [guessed])], "me"))
        #expect(await !mayCommit([try task("mine", "m", [guessed], of: "me")], "me"))
        #expect(await !mayCommit([try task("x", "e", [known], of: "eve")], "eve"))
        let nested = Value.array([.map(["x": .array([.string(guessed)])])])
        #expect(await !mayCommit([try set("tasks/new", ["userId": "they", "listId": "l", "notes": nested])], "me"))
        #expect(
            await !mayCommit([try set("tasks/t/history/h", ["userId": "they", "value": .string(guessed)])], "me"))
        let append = FieldTransform(FieldPath(key: "more"), .appendMissingElements([.string(guessed)]))
        #expect(
            await !mayCommit(
                [Write(.update(try name("tasks/mine"), fields: [:]), mask: [], transforms: [append])], "me"))
        #expect(try await !reads("chunks", ContentHash(of: [7])))
        // Existing references stay in the task and in its history, whichever user writes.
        try await commit([try task("t", "l", [guessed])], .administrator)
        #expect(await mayCommit([try task("t", "l", [guessed])], "me"))
        #expect(
            await mayCommit([try set("tasks/t/history/h", ["userId": "they", "value": .string(guessed)])], "me"))
    }
}
