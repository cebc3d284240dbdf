import SystemIO
import Testing

@testable import ObjectStorage

/// Tests of cutting content with the manifest of an earlier version.
@Suite struct ChunkReaderTests {
    private let namespace: ObjectNamespace

    init() throws { namespace = try ObjectNamespace(user: "alice") }

    private static func manifest(_ content: [UInt8]) -> Manifest {
        var start = 0
        let chunks = Chunker.lengths(of: content, sizes: .small).map { length in
            defer { start += length }
            let id = ContentHash(ofChunk: content[start..<start + length])
            return ChunkReference(id: id, length: length, storedLength: length + ChunkHeader.byteCount)
        }
        return Manifest(sha256: ContentHash(of: content), chunks: chunks)
    }

    /// Reads the chunks of `content`, several at once before they are identified. Returns them with
    /// the number of expected ones.
    private static func read(
        _ content: [UInt8], after earlier: Manifest, ahead: Int
    ) throws -> (chunks: [ContentHash], expected: Int) {
        let reader = ChunkReader(MemorySource(name: "f", bytes: content), sizes: .small)
        reader.follow(earlier)
        var chunks: [ContentHash] = []
        var expected = 0
        var waiting: [ChunkReader.Chunk] = []
        while true {
            while waiting.count < ahead, let chunk = try reader.next() { waiting.append(chunk) }
            guard !waiting.isEmpty else { break }
            let chunk = waiting.removeFirst()
            let id = ContentHash(of: chunk.object)
            if chunk.expected == nil || chunk.expected?.id == id {
                reader.note(id, of: chunk)
                #expect(chunk.number == chunks.count)
                chunks.append(id)
                if chunk.expected != nil { expected += 1 }
            } else {
                reader.back(to: chunk)
                waiting = []
            }
        }
        try reader.verify()
        return (chunks, expected)
    }

    @Test func `content is cut the same with and without an earlier version`() throws {
        var generator = SeededGenerator(seed: 20_261_127)
        let earlier = Noise.bytes(800_000, seed: 3)
        let manifest = Self.manifest(earlier)
        for _ in 0..<60 {
            var content = earlier
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                let place = Int.random(in: 0...content.count, using: &generator)
                let length = min(Int.random(in: 0...100_000, using: &generator), content.count - place)
                switch Int.random(in: 0..<6, using: &generator) {
                case 0: content.insert(contentsOf: Noise.bytes(length, seed: 9), at: place)
                case 1: content.removeSubrange(place..<place + length)
                case 2: content.removeLast(length)
                case 3: content += content[place..<place + length]
                case 4: content.replaceSubrange(place..<place + length, with: repeatElement(0, count: length))
                default: content.swapAt(place / 2, place / 3)
                }
            }
            let ahead = Int.random(in: 1...9, using: &generator)
            let read = try Self.read(content, after: manifest, ahead: ahead)
            #expect(read.chunks == Self.manifest(content).chunks.map(\.id))
        }
    }

    @Test func `after the first unchanged chunk and after an insertion, chunks are not searched for again`() throws {
        let earlier = Noise.bytes(800_000, seed: 3)
        let manifest = Self.manifest(earlier)
        #expect(try Self.read(earlier, after: manifest, ahead: 1).expected == manifest.chunks.count - 1)
        let content = earlier[..<400_000] + [1, 2, 3] + earlier[400_000...]
        #expect(try Self.read(Array(content), after: manifest, ahead: 1).expected >= manifest.chunks.count - 5)
    }

    @Test func `chunks that the rule does not make are not expected`() throws {
        let content = Noise.bytes(300_000, seed: 4)
        let half = content.count / 2
        let chunks = [content[..<half], content[half...]].map {
            ChunkReference(id: ContentHash(ofChunk: $0), length: $0.count, storedLength: $0.count)
        }
        let foreign = Manifest(sha256: ContentHash(of: content), chunks: chunks)
        #expect(try Self.read(content, after: foreign, ahead: 3).chunks == Self.manifest(content).chunks.map(\.id))
    }

    @Test(arguments: [true, false])
    func `an upload has the same manifest with an earlier version and without, also where that is not to be had`(
        isStored: Bool
    ) async throws {
        let store = MemoryObjectStore()
        let earlier = Noise.bytes(800_000, seed: 3)
        let content = earlier[..<400_000] + Noise.bytes(100, seed: 4) + earlier[400_000...]
        let first = try await upload(earlier, to: store).outcome
        let key = namespace.manifest(isStored ? first.manifest : ContentHash(of: []))
        let second = try await upload(Array(content), to: store, after: key)
        let file = try await second.outcome
        #expect(file.sha256 == ContentHash(of: Array(content)))
        #expect(file.content == Self.content(of: Array(content)))
        #expect(second.snapshot.bytesOnWire < 200_000)
    }

    private static func content(of bytes: [UInt8]) -> ContentReference { .manifest(manifest(bytes).id) }

    private func upload(
        _ content: [UInt8], to store: MemoryObjectStore, after earlier: ObjectKey? = nil,
        marks: ChunkFingerprints? = nil
    ) async throws -> UploadTask {
        let task = UploadTask(
            File(name: "f", bytes: content), to: store, namespace: namespace, sizes: .small, earlier: earlier,
            marks: marks)
        task.start()
        _ = try await task.outcome
        return task
    }

    @Test func `fingerprints identify the same chunks as ids, for any version`() async throws {
        let store = MemoryObjectStore()
        let earlier = Noise.bytes(3_000_000, seed: 3)
        let first = try await upload(earlier, to: store, marks: ChunkFingerprints()).outcome
        let marks = try #require(first.marks)
        #expect(marks.marks.count == first.chunkCount)
        #expect(ChunkFingerprints(bytes: marks.bytes) == marks)
        // An unchanged chunk, one with a changed bit, and one of another file.
        var changed = earlier
        changed[earlier.count / 3] ^= 1
        let other = earlier[..<1_500_000] + Noise.bytes(100, seed: 4) + earlier[1_500_000...]
        for content in [earlier, changed, Array(other)] {
            for marks in [
                marks, ChunkFingerprints(),
                ChunkFingerprints(bytes: [UInt8](repeating: 1, count: 16 * first.chunkCount + 16)),
            ] {
                let key = namespace.manifest(first.manifest)
                let file = try await upload(content, to: store, after: key, marks: marks).outcome
                #expect(file.sha256 == ContentHash(of: content))
                #expect(file.content == Self.content(of: content))
                let again = try await upload(content, to: store, marks: file.marks).outcome
                #expect(again.marks == file.marks)
            }
        }
    }

    @Test func `a short file is not marked`() async throws {
        let file = try await upload(Noise.bytes(2_000_000), to: MemoryObjectStore(), marks: ChunkFingerprints()).outcome
        #expect(file.marks == nil)
    }

    @Test(arguments: [0, 15, 17, 40])
    func `bytes of any other length are not fingerprints`(count: Int) {
        #expect(ChunkFingerprints(bytes: [UInt8](repeating: 0, count: count)) == nil)
    }
}
