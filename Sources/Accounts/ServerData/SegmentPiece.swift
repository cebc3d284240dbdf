import BucketStore
import Cryptography
import SystemIO

/// An entry of a segment in another data directory, at the same place.
enum SegmentPiece {
    /// Returns the first block of a segment, and after it an entry with its head.
    ///
    /// - Throws: `SystemError` with `.notFound` if the place is empty or was freed meanwhile.
    static func read(_ place: SegmentPlace, in layout: DataLayout) throws -> [UInt8] {
        let file = try FileDescriptor(path: "\(layout.objects)/\(ObjectPlace.segment(place).path)", .read)
        let entry = try file.read(EntryFormat.headSize + Int(place.size), at: place.offset)
        let head = try head(Array(entry.prefix(EntryFormat.headSize)), of: place, in: file)
        if SHA256.hash(Array(entry.dropFirst(EntryFormat.headSize))) != head.digest {
            // The place was freed meanwhile, starting at its first block; or the object is damaged
            // and is copied unchanged.
            _ = try Self.head(file.read(EntryFormat.headSize, at: place.offset), of: place, in: file)
        }
        return try file.read(Int(EntryFormat.block), at: 0) + entry
    }

    private static func head(
        _ bytes: [UInt8], of place: SegmentPlace, in file: borrowing FileDescriptor
    ) throws -> EntryFormat.Head {
        guard let head = EntryFormat.head(bytes), head.name == place.description else {
            throw SystemError(.notFound, operation: "find \(place) in", path: file.path)
        }
        return head
    }

    /// Writes what `read` returned to the same place. A segment of another epoch is replaced.
    ///
    /// - Throws: `ServerError` with `.damaged` if it is not for this place.
    static func write(_ piece: [UInt8], _ place: SegmentPlace, in layout: DataLayout) throws {
        let (block, entry) = (piece.prefix(Int(EntryFormat.block)), piece.dropFirst(Int(EntryFormat.block)))
        guard entry.count == EntryFormat.headSize + Int(place.size),
            EntryFormat.head(Array(entry.prefix(EntryFormat.headSize)))?.name == place.description
        else { throw ServerError(.damaged, "What was read for \(place) is another object.") }
        let path = "\(layout.objects)/\(ObjectPlace.segment(place).path)"
        try FileSystem.makeDirectories(FileSystem.split(path).parent, mode: 0o700)
        let output = try FileDescriptor(path: path, [.readWrite, .create], mode: 0o600)
        if try output.read(block.count, at: 0) != Array(block) {
            try output.truncate(to: 0)
            try output.write(Array(block), at: 0)
        }
        try output.write(Array(entry), at: place.offset)
    }
}
