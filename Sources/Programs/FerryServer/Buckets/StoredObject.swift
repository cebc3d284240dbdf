import HTTPMessages
import SystemIO

/// The bytes of an object on the disk, open.
struct StoredObject: ~Copyable, Sendable {
    /// How many bytes are there: not as many as there should be where a disk has lost some.
    let size: Int64
    private let descriptor: FileDescriptor
    /// Where the object begins in the file.
    private let start: Int64
    /// Where the object lies in a segment of a running store.
    private let lease: ObjectSegments.Lease?

    /// - Parameters:
    ///   - place: from the index.
    ///   - directory: the store's.
    /// - Throws: `SystemError` with `.notFound` where nothing is there: it was never written, is lost, or was given back.
    init(_ place: ObjectPlace, in directory: String, lease: ObjectSegments.Lease? = nil) throws {
        let file = try FileDescriptor(path: "\(directory)/\(place.path)", .read)
        let end = try file.status().size
        (start, size) = try Self.span(of: place, in: file, end: end)
        descriptor = file
        self.lease = lease
    }

    private static func span(of place: ObjectPlace, in file: borrowing FileDescriptor, end: Int64) throws -> (
        start: Int64, size: Int64
    ) {
        guard case .segment(let place) = place else { return (0, end) }
        let head = try file.read(EntryFormat.headSize, at: place.offset)
        guard EntryFormat.isHead(head, named: place.description) else {
            throw SystemError(.notFound, operation: "find \(place) in", path: file.path)
        }
        return (place.start, min(place.size, max(0, end - place.start)))
    }

    /// The bytes of a place in a segment, fewer only where the disk has lost some.
    ///
    /// - Throws: as `init` does.
    static func contents(of place: SegmentPlace, in directory: String) throws -> [UInt8] {
        let file = try FileDescriptor(path: "\(directory)/\(SegmentPlace.path(of: place.number))", .read)
        let (head, bytes) = try file.read(Int(place.size), behind: EntryFormat.headSize, at: place.offset)
        guard EntryFormat.isHead(head, named: place.description) else {
            throw SystemError(.notFound, operation: "find \(place) in", path: file.path)
        }
        return bytes
    }

    /// Fewer bytes than asked for only at the end.
    func read(_ count: Int, at position: Int64) throws -> [UInt8] {
        try descriptor.read(Int(max(0, min(Int64(count), size - position))), at: start + position)
    }

    /// Fills the buffer from the beginning of the object. Answers how many bytes there were, fewer only where it is shorter.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = Int(max(0, min(Int64(buffer.count), size)))
        var done = 0
        while done < count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<count])
            let got = try descriptor.read(into: rest, at: start + Int64(done))
            if got == 0 { break }
            done += got
        }
        return done
    }

    /// Calls `body` with all bytes in order.
    func forEachPart(_ body: ([UInt8]) throws -> Void) throws {
        var position: Int64 = 0
        while position < size {
            let bytes = try read(1 << 20, at: position)
            guard !bytes.isEmpty else { return }
            try body(bytes)
            position += Int64(bytes.count)
        }
    }

    /// The body of an answer that gives a span of the object.
    ///
    /// The bytes in a segment are copied: once the object is replaced or removed, its part of the segment is given back, and the
    /// system clears pages that the socket still refers to. The file of a large object is only ever removed as a whole, which leaves
    /// such pages as they are.
    ///
    consuming func body(_ span: Range<Int64>) throws -> HTTPBody {
        let (offset, lease) = (start + span.lowerBound, lease)
        return .file(try FileRange(owning: descriptor.release(), offset: offset, length: span.count, owner: lease))
    }
}
