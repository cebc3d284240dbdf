import Glibc
import ObjectStorage
import SystemTestKit
import Testing

@Suite struct DirectoryStoreTests {
    @Test func `an object is at the path of its key, and there are no other files`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryObjectStore(path: directory.path + "/store")
        try await store.put(ObjectKey("user/chunks/ab/abcd"), [1, 2, 3])
        #expect(directory.names() == ["store/user.d/chunks.d/ab.d/abcd"])
    }

    @Test(arguments: ["../escape", "..", "a/../../b", "/etc/passwd", "a//b", "a/", ".incoming/x"])
    func `no key leaves the directory`(text: String) async throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryObjectStore(path: directory.path + "/store")
        let key = try ObjectKey(text)
        try await store.put(key, [7])
        #expect(try await store.read(key, limit: 1) == [7])
        #expect(directory.names().allSatisfy { $0.hasPrefix("store/") })
        let page = try await store.list(prefix: "", after: nil, limit: 10)
        #expect(page.objects.map(\.key) == [key])
    }

    @Test func `files of another program in the directory are not objects`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryObjectStore(path: directory.path)
        try await store.put(ObjectKey("real"), [1])
        _ = try directory.file(".incoming/half", [1])
        _ = try directory.file(".DS_Store", [1])
        _ = try directory.file("bad%zz", [1])
        symlink("/etc/passwd", directory.path + "/link")
        mkfifo(directory.path + "/pipe", 0o600)
        #expect(try await store.list(prefix: "", after: nil, limit: 10).objects.map(\.key.text) == ["real"])
        #expect(try await store.head(ObjectKey("pipe")) == nil)
        await #expect(throws: ObjectStorageError.self) { _ = try await store.get(ObjectKey("pipe")) }
        await #expect(throws: ObjectStorageError.self) { _ = try await store.get(ObjectKey("link")) }
    }

    @Test func `a part longer than a file name is refused with the limit`() async throws {
        let directory = try TemporaryDirectory()
        let store = try DirectoryObjectStore(path: directory.path)
        let key = try ObjectKey(String(repeating: "x", count: 241))
        await #expect { try await store.put(key, []) } throws: {
            ($0 as? ObjectStorageError)?.code == .invalid && "\($0)".contains("240")
        }
        try await store.put(
            ObjectKey(String(repeating: "x", count: 238) + "/" + String(repeating: "y", count: 238)), [])
    }

    @Test(arguments: [0, 1025])
    func `a key has 1 to 1024 bytes`(count: Int) {
        #expect(throws: ObjectStorageError.self) { try ObjectKey(String(repeating: "k", count: count)) }
        #expect(throws: ObjectStorageError.self) { try ObjectKey("a\0b") }
    }
}
