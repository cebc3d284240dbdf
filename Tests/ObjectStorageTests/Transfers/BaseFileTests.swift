import SystemIO
import SystemTestKit
import Testing

@testable import ObjectStorage

/// Tests of downloads that take unchanged chunks from an earlier version of the file on this
/// device.
@Suite struct BaseFileTests {
    private let memory = MemoryObjectStore()
    private let namespace: ObjectNamespace
    private let directory: TemporaryDirectory
    private let earlier = Noise.bytes(8 << 20)

    init() throws {
        namespace = try ObjectNamespace(user: "alice")
        directory = try TemporaryDirectory()
    }

    private var path: String { directory.path + "/base" }

    /// The earlier version with an insertion in its middle.
    private var content: [UInt8] {
        earlier[..<(earlier.count / 2)] + Array("inserted".utf8) + earlier[(earlier.count / 2)...]
    }

    private func upload(
        _ content: [UInt8], sizes: ChunkSizes = .standard, marks: ChunkFingerprints? = nil
    ) async throws -> UploadedFile {
        let task = UploadTask(
            File(name: "f", bytes: content), to: memory, namespace: namespace, sizes: sizes, marks: marks)
        task.start()
        return try await task.outcome
    }

    private func manifest(_ file: UploadedFile) async throws -> Manifest {
        try Manifest(parsing: try await memory.read(namespace.manifest(file.manifest), limit: Manifest.byteLimit))
    }

    @Test func `chunks of an earlier version are not transferred, even if they have moved`() async throws {
        try FileSystem.replace(path, with: earlier)
        let file = try await upload(content)
        let task = DownloadTask(
            file.manifest, to: directory.path + "/got", from: memory, namespace: namespace, base: path)
        task.start()
        _ = try await task.outcome
        #expect(try FileSystem.read(directory.path + "/got") == content)
        #expect(task.snapshot.bytesDeduplicated >= 3 << 20)
        #expect(task.snapshot.bytesOnWire < 5 << 20)
    }

    @Test func `a file that has changed since it was cut returns its chunks only without verification`() async throws {
        try FileSystem.replace(path, with: earlier)
        let wanted = try await manifest(upload(earlier))
        let base = try #require(await BaseFile.find(wanted, in: path, listing: nil))
        let first = try #require(wanted.chunks.first)
        #expect(base.read(first, verifying: true) == Array(earlier[..<first.length]))
        let file = try FileDescriptor(path: path, .readWrite)
        try [earlier[0] ^ 1].withUnsafeBytes { try file.write($0, at: 0) }
        #expect(base.read(first, verifying: true) == nil)
        #expect(base.read(first, verifying: false) != Array(earlier[..<first.length]))
    }

    @Test func `a file without any of the chunks is not a base`() async throws {
        try FileSystem.replace(path, with: Noise.bytes(100, seed: 2))
        #expect(await BaseFile.find(try manifest(upload(earlier)), in: path, listing: nil) == nil)
    }

    @Test(arguments: [0, 1 << 20])
    func `a file that differs from its listing costs a second pass, and the result is correct`(
        place: Int
    ) async throws {
        let earlier = Noise.bytes(3 << 20, seed: 3)
        let first = try await upload(earlier, sizes: .small)
        var changed = earlier
        changed[place] ^= 1
        try FileSystem.replace(path, with: changed)
        let content = earlier + Array("appended".utf8)
        let file = try await upload(content, sizes: .small)
        let task = DownloadTask(
            .manifest(file.manifest), to: directory.path + "/got", from: memory, namespace: namespace,
            options: DownloadOptions {
                ($0.base, $0.baseListing) = (path, namespace.manifest(first.manifest))
                ($0.isMarked, $0.isSynced) = (true, false)
            }, environment: .system)
        task.start()
        let marks = try #require(try await task.outcome.marks)
        #expect(try FileSystem.read(directory.path + "/got") == content)
        #expect(task.snapshot.bytesOnWire < 1 << 20)
        // A device that has downloaded the file recognizes its chunks like one that has uploaded
        // it.
        #expect(try await upload(content, sizes: .small, marks: marks).marks == marks)
    }

    @Test func `a listing locates the chunks, and one of a different length is ignored`() async throws {
        try FileSystem.replace(path, with: earlier)
        let wanted = try await manifest(upload(earlier))
        let chunks = wanted.chunks
        let turned = Manifest(sha256: wanted.sha256, chunks: chunks.reversed())
        let first = try #require(chunks.first)
        let believed = try #require(await BaseFile.find(wanted, in: path, listing: turned))
        #expect(believed.read(first, verifying: true) == nil)
        let shorter = Manifest(sha256: wanted.sha256, chunks: chunks.dropLast().reversed())
        let cut = try #require(await BaseFile.find(wanted, in: path, listing: shorter))
        #expect(cut.read(first, verifying: true) == Array(earlier[..<first.length]))
    }
}
