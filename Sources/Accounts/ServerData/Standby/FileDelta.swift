import Cryptography
import Synchronization
import SystemIO

/// A file as its difference from an older copy.
///
/// The delta starts with a mark and the size of the file in bytes (8, little-endian). Blocks that differ follow in
/// order, each after its index (4, little-endian), and at the end an index that no block has and the SHA-256 of
/// the whole file.
enum FileDelta {
    static let mark = Array("FERRYDL1".utf8)
    static let headSize = mark.count + 8
    static let indexSize = 4
    /// The index that ends a delta.
    static let end = UInt32.max
    static let digestSize = 32
    /// The largest file in bytes whose blocks all have an index.
    static let maximumLength = (Int64(end) - 1) * Int64(FileBlocks.size)
}

/// Produces a delta from an open file, piece by piece.
final class FileDeltaWriter: Sendable {
    private struct State {
        var position: Int64 = 0
        var hash = SHA256()
        var isStarted = false
        var isDone = false
    }

    /// The size from which a piece is handed out.
    private static let pieceSize = 256 << 10

    private let file: FileDescriptor
    private let length: Int64
    /// The sums of the older copy.
    private let known: [UInt8]
    private let state = Mutex(State())

    /// - Throws: `ServerError` for a file with more blocks than there are indexes.
    init(_ file: consuming FileDescriptor, known: [UInt8]) throws {
        length = try file.status().size
        guard length <= FileDelta.maximumLength else {
            throw ServerError(.failed, "\(file.path) is too large to be copied to a standby.")
        }
        self.file = file
        self.known = known
    }

    /// Returns the next piece; nil after the last one. Blocks.
    func next() throws -> [UInt8]? {
        try state.withLock { state in
            guard !state.isDone else { return nil }
            var piece: [UInt8] = []
            if !state.isStarted {
                state.isStarted = true
                piece += FileDelta.mark
                withUnsafeBytes(of: UInt64(clamping: length).littleEndian) { piece += $0 }
            }
            while piece.count < Self.pieceSize {
                guard state.position < length else {
                    Self.append(FileDelta.end, to: &piece)
                    piece += state.hash.finish().bytes
                    state.isDone = true
                    break
                }
                try appendDifferences(to: &piece, &state)
            }
            return piece
        }
    }

    /// Reads the next blocks, and appends those that differ.
    private func appendDifferences(to piece: inout [UInt8], _ state: inout State) throws {
        let bytes = try file.read(
            Int(min(Int64(FileBlocks.batch * FileBlocks.size), length - state.position)), at: state.position)
        guard !bytes.isEmpty else { throw ServerError(.failed, "\(file.path) became shorter while it was read.") }
        state.hash.update(bytes)
        let blocks = FileBlocks.split(bytes)
        var index = Int(state.position / Int64(FileBlocks.size))
        for (block, sum) in zip(blocks, FileBlocks.sums(blocks)) {
            if !known.dropFirst(index * FileBlocks.sumSize).prefix(FileBlocks.sumSize).elementsEqual(sum) {
                Self.append(UInt32(index), to: &piece)
                piece += block
            }
            index += 1
        }
        state.position += Int64(bytes.count)
    }

    private static func append(_ index: UInt32, to piece: inout [UInt8]) {
        withUnsafeBytes(of: index.littleEndian) { piece += $0 }
    }
}

/// A delta that was received, in a file, and the copy that it makes newer.
///
/// The delta is checked as a whole before the copy is changed, and applying it again changes nothing, so a copy
/// that was interrupted is completed by the next attempt.
struct ReceivedDelta {
    /// The path of the delta.
    let path: String
    /// The path of the older copy, which may not exist.
    let copy: String

    /// Checks that the older copy with the delta is the file that was sent. Blocks.
    ///
    /// - Parameter target: The path at which that file is written; nil to write none.
    /// - Throws: `ServerError` with `.damaged` if it is not.
    func check(writing target: String? = nil) throws {
        let old = FileSystem.exists(copy) ? try OpenFile(copy) : nil
        let output = try target.map { try OpenFile($0, [.readWrite, .create, .truncate]) }
        var hash = SHA256()
        var next: Int64 = 0
        func addOld(upTo end: Int64, of length: Int64) throws {
            while next < end {
                guard let old else { throw damaged }
                let count = FileBlocks.size(at: next, of: length)
                let block = try old.descriptor.read(count, at: next * Int64(FileBlocks.size))
                guard block.count == count else { throw damaged }
                try add(block)
            }
        }
        func add(_ block: [UInt8]) throws {
            hash.update(block)
            try output?.descriptor.write(block, at: next * Int64(FileBlocks.size))
            next += 1
        }
        let (length, digest) = try forEachBlock { index, block, length in
            try addOld(upTo: index, of: length)
            try add(block)
        }
        try addOld(upTo: FileBlocks.count(length), of: length)
        guard hash.finish() == digest else { throw damaged }
    }

    /// A file that a closure can refer to.
    private final class OpenFile {
        let descriptor: FileDescriptor

        init(_ path: String, _ options: OpenOptions = .read) throws {
            descriptor = try FileDescriptor(path: path, options, mode: 0o600)
        }
    }

    /// Makes the copy the file that was sent, and durable. Blocks.
    func apply() throws {
        let output = try FileDescriptor(path: copy, [.readWrite, .create], mode: 0o600)
        let (length, _) = try forEachBlock { index, block, _ in
            try output.write(block, at: index * Int64(FileBlocks.size))
        }
        try output.truncate(to: length)
        try output.synchronize()
    }

    /// Calls `body` with each block of the delta in order. Returns the length and the digest of the whole file.
    private func forEachBlock(
        _ body: (_ index: Int64, _ block: [UInt8], _ length: Int64) throws -> Void
    ) throws -> (length: Int64, digest: SHA256Digest) {
        let file = try FileDescriptor(path: path, .read)
        let head = try file.read(FileDelta.headSize, at: 0)
        guard head.count == FileDelta.headSize, head.starts(with: FileDelta.mark),
            let length = Int64(exactly: Self.number(head.dropFirst(FileDelta.mark.count))),
            length <= FileDelta.maximumLength
        else { throw damaged }
        var (position, last) = (Int64(FileDelta.headSize), Int64(-1))
        while true {
            let bytes = try file.read(FileDelta.indexSize, at: position)
            guard bytes.count == FileDelta.indexSize else { throw damaged }
            position += Int64(FileDelta.indexSize)
            let index = Int64(Self.number(bytes[...]))
            if index == Int64(FileDelta.end) { break }
            guard index > last, index < FileBlocks.count(length) else { throw damaged }
            let count = FileBlocks.size(at: index, of: length)
            let block = try file.read(count, at: position)
            guard block.count == count else { throw damaged }
            try body(index, block, length)
            position += Int64(count)
            last = index
        }
        guard let digest = SHA256Digest(bytes: try file.read(FileDelta.digestSize, at: position)) else { throw damaged }
        return (length, digest)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private var damaged: ServerError {
        ServerError(.damaged, "What the server sent for \(copy) is incomplete or damaged.")
    }
}
