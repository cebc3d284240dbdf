import Cryptography
import SystemIO

/// The blocks in which two copies of a file are compared, and the sums by which they are.
enum FileBlocks {
    /// The size of a block in bytes. A commit changes a few pages of 4 KiB, and each block costs a
    /// sum in every comparison.
    static let size = 16 << 10
    /// The size of a sum in bytes: the first half of a SHA-256.
    static let sumSize = 16
    /// The number of blocks that are read at once.
    static let batch = 64

    /// Returns the number of blocks in a file of `length` bytes.
    static func count(_ length: Int64) -> Int64 { (max(0, length) + Int64(size) - 1) / Int64(size) }

    /// Returns the number of bytes in the block at `index` of a file of `length` bytes.
    static func size(at index: Int64, of length: Int64) -> Int { Int(min(Int64(size), length - index * Int64(size))) }

    /// Splits bytes into blocks; the last one may be shorter.
    static func split(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
    }

    /// Returns the sums of blocks.
    static func sums(_ blocks: [ArraySlice<UInt8>]) -> [ArraySlice<UInt8>] {
        SHA256.hash(each: blocks).map { Array($0.bytes)[..<sumSize] }
    }

    /// Returns the sums of all blocks of a file, one after another; none if there is no file.
    static func sums(of path: String) throws -> [UInt8] {
        guard FileSystem.exists(path) else { return [] }
        let file = try FileDescriptor(path: path, .read)
        var (sums, position): ([UInt8], Int64) = ([], 0)
        while true {
            let bytes = try file.read(batch * size, at: position)
            guard !bytes.isEmpty else { return sums }
            for sum in Self.sums(split(bytes)) { sums += sum }
            position += Int64(bytes.count)
        }
    }
}
