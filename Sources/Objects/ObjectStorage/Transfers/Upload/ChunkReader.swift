import Cryptography
import Synchronization

/// Reads a source and cuts it into chunks, each in the array from which it will be sent. The caller
/// hashes them, so that this can be done while the next ones are read.
///
/// If the manifest of an earlier version is known, the chunks that follow an unchanged chunk in
/// that version are expected to be unchanged as well, and are read without a search for their ends.
/// The caller verifies them with their hashes or fingerprints. If one is wrong, the caller returns
/// to it with `back(to:)`. For that reason content is cut at the same places with and without an
/// earlier version.
final class ChunkReader: Sendable {
    /// The number of bytes that are read at once.
    static let blockSize = 256 << 10

    struct Chunk: Sendable {
        /// The object that holds the chunk raw.
        var object: [UInt8]
        let number: Int
        let offset: Int64
        /// The expected identity, which the caller must verify; nil if the chunk was cut by its
        /// content.
        let expected: Expected?

        var length: Int { object.count - ChunkHeader.byteCount }
    }

    /// The identity of an unchanged chunk.
    struct Expected: Sendable {
        let id: ContentHash
        /// The fingerprint, which may be verified instead of the id; nil if it is not known.
        let mark: [UInt8]?
    }

    private struct State {
        var chunker: Chunker
        /// The offset at which the source is read next.
        var offset: Int64 = 0
        /// The bytes that were read after the end of the last chunk.
        var rest: [UInt8] = []
        /// The number of the next chunk.
        var number = 0
        var earlier: Earlier?
        /// The index of the expected chunk in the earlier version minus `number`; nil if no chunk
        /// is expected.
        var shift: Int?

        /// The offset at which the next chunk begins.
        var start: Int64 { offset - Int64(rest.count) }

        mutating func go(to offset: Int64, _ number: Int) {
            self.offset = offset
            self.number = number
            rest = []
            shift = nil
            chunker.restart()
        }
    }

    private struct Earlier {
        let chunks: [ChunkReference]
        let indices: [ContentHash: Int]
        let marks: [[UInt8]]?
    }

    private let source: any ByteSource
    private let sizes: ChunkSizes
    private let state: Mutex<State>

    init(_ source: any ByteSource, sizes: ChunkSizes) {
        self.source = source
        self.sizes = sizes
        state = Mutex(State(chunker: Chunker(sizes: sizes)))
    }

    /// Whether there is no next chunk.
    var isAtEnd: Bool { state.withLock { $0.start >= source.size } }

    /// Sets the earlier version. It may be called at any time.
    ///
    /// - Parameter marks: The fingerprints of the chunks of the earlier version; nil if they are
    ///   not known.
    func follow(_ earlier: Manifest, marks: ChunkFingerprints? = nil) {
        let indices = earlier.chunks.enumerated().map { ($1.id, $0) }
        let marks = marks?.marks.count == earlier.chunks.count ? marks?.marks : nil
        state.withLock { state in
            state.earlier = Earlier(
                chunks: earlier.chunks, indices: Dictionary(indices) { first, _ in first }, marks: marks)
        }
    }

    /// Reports the id of a chunk that was cut by its content.
    func note(_ id: ContentHash, of chunk: Chunk) {
        guard chunk.expected == nil else { return }
        state.withLock { state in
            guard state.shift == nil, let index = state.earlier?.indices[id] else { return }
            state.shift = index - chunk.number
        }
    }

    /// Returns to the beginning of a chunk. The next chunk is cut by its content.
    func back(to chunk: Chunk) { state.withLock { $0.go(to: chunk.offset, chunk.number) } }

    /// Reads the next chunk; nil at the end. Blocks.
    func next() throws -> Chunk? {
        try state.withLock { state in
            if let (length, expected) = expected(state), let chunk = try read(length, expected, &state) { return chunk }
            let (offset, number) = (state.start, state.number)
            guard let object = try cut(&state) else { return nil }
            state.number += 1
            return Chunk(object: object, number: number, offset: offset, expected: nil)
        }
    }

    private func expected(_ state: State) -> (length: Int, Expected)? {
        guard let earlier = state.earlier, let shift = state.shift,
            case let index = state.number + shift, earlier.chunks.indices.contains(index)
        else { return nil }
        let chunk = earlier.chunks[index]
        let left = source.size - state.start
        // The last chunk of the earlier version ended with the file.
        let isLast = index == earlier.chunks.count - 1
        let isPossible = isLast ? chunk.length == left : chunk.length >= sizes.minimum && chunk.length <= left
        guard isPossible, chunk.length <= sizes.maximum else { return nil }
        return (chunk.length, Expected(id: chunk.id, mark: earlier.marks?[index]))
    }

    /// Reads a chunk of a known length; nil if the source ends before that.
    private func read(_ length: Int, _ expected: Expected, _ state: inout State) throws -> Chunk? {
        let (offset, number) = (state.start, state.number)
        var object = BufferPool.shared.take(ChunkHeader.byteCount + length)
        object.append(contentsOf: ChunkHeader(codec: .raw, rawLength: length).bytes)
        var end = offset
        while object.count < ChunkHeader.byteCount + length {
            let left = ChunkHeader.byteCount + length - object.count
            guard try readBlock(into: &object, at: &end, atMost: left) else {
                state.go(to: offset, number)
                return nil
            }
        }
        let shift = state.shift
        state.go(to: end, number + 1)
        state.shift = shift
        return Chunk(object: object, number: number, offset: offset, expected: expected)
    }

    private func cut(_ state: inout State) throws -> [UInt8]? {
        let header = ChunkHeader.byteCount
        let left = max(0, source.size - state.start)
        var object = BufferPool.shared.take(header + Int(min(left, Int64(sizes.maximum + Self.blockSize))))
        object.append(contentsOf: ChunkHeader(codec: .raw, rawLength: 0).bytes)
        object.append(contentsOf: state.rest)
        state.rest = []
        var end = header
        while try end < object.count || readBlock(into: &object, at: &state.offset, atMost: Self.blockSize) {
            let cut = object.withUnsafeBytes {
                state.chunker.boundary(in: UnsafeRawBufferPointer(rebasing: $0[end...]))
            }
            end = cut.map { end + $0 } ?? object.count
            if cut != nil { break }
        }
        guard end > header else { return nil }
        state.rest = Array(object[end...])
        object.removeSubrange(end...)
        object.replaceSubrange(..<header, with: ChunkHeader(codec: .raw, rawLength: end - header).bytes)
        return object
    }

    /// Throws `.sourceChanged` unless everything that was read belongs to one version of the source
    /// and is all of it.
    func verify() throws {
        try source.verifyUnchanged()
        let offset = state.withLock { $0.offset }
        guard offset == source.size else {
            throw ObjectStorageError(
                .sourceChanged, "\(source.name) had \(source.size) bytes and gave \(offset); it is read again later")
        }
    }

    /// Appends a block; false at the end.
    private func readBlock(into object: inout [UInt8], at offset: inout Int64, atMost limit: Int) throws -> Bool {
        // Bytes that were appended to the source since do not belong to the version that is read.
        let length = Int(min(source.size - offset, Int64(limit)))
        guard length > 0 else { return false }
        let before = object.count
        try object.append(addingCapacity: length) { room in
            try room.withUnsafeMutableBufferPointer { room, count in
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[..<length])
                count = try source.read(into: room, at: offset)
            }
        }
        let count = object.count - before
        offset += Int64(count)
        return count > 0
    }
}
