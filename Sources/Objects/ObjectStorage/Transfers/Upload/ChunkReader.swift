import Cryptography
import Synchronization

/// Reads a source and cuts it into chunks, each of which lands where it will be sent from. Hashing them is left to others, so that it
/// can be done while the next one is read.
final class ChunkReader: Sendable {
    /// How much is read at once.
    static let blockSize = 256 << 10

    private struct State {
        var chunker: Chunker
        /// Where the source is read next.
        var offset: Int64 = 0
        /// What was read behind the end of the last chunk.
        var rest: [UInt8] = []
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
    var isAtEnd: Bool { state.withLock { $0.rest.isEmpty && $0.offset >= source.size } }

    /// The next chunk as an object that holds it raw; nil at the end. Blocks.
    func next() throws -> [UInt8]? { try state.withLock { try next(&$0) } }

    private func next(_ state: inout State) throws -> [UInt8]? {
        let header = ChunkHeader.byteCount
        let left = max(0, source.size - state.offset) + Int64(state.rest.count)
        var object = BufferPool.shared.take(header + Int(min(left, Int64(sizes.maximum + Self.blockSize))))
        object.append(contentsOf: ChunkHeader(codec: .raw, rawLength: 0).bytes)
        object.append(contentsOf: state.rest)
        state.rest = []
        var end = header
        while try end < object.count || readBlock(into: &object, at: &state.offset) {
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

    /// Throws `.sourceChanged` if what was read is not one version of the source, from its beginning to its end.
    func verify() throws {
        try source.verifyUnchanged()
        let offset = state.withLock { $0.offset }
        guard offset == source.size else {
            throw ObjectStorageError(
                .sourceChanged, "\(source.name) had \(source.size) bytes and gave \(offset); it is read again later")
        }
    }

    /// Appends a block; false at the end.
    private func readBlock(into object: inout [UInt8], at offset: inout Int64) throws -> Bool {
        // What may have come behind it since is no part of the version that is read.
        let length = Int(min(source.size - offset, Int64(Self.blockSize)))
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
