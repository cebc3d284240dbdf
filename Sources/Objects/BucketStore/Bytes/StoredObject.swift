import SystemIO

/// An open object on the disk.
package struct StoredObject: ~Copyable, Sendable {
    /// The number of bytes that are there: fewer than the record says if the disk has lost some.
    package let size: Int64
    private let descriptor: FileDescriptor
    /// The offset of the object in the file.
    private let start: Int64
    /// Keeps the place of an object in a segment of a running store.
    private let lease: ObjectSegments.Lease?

    /// Opens an object of a store that is not running, or one whose bytes may be replaced while it
    /// is read.
    ///
    /// - Parameters:
    ///   - place: The place from the index.
    ///   - directory: The store's directory.
    /// - Throws: `SystemError` with `.notFound` if nothing is there: it was never written, is lost,
    ///   or was freed.
    package init(_ place: ObjectPlace, in directory: String) throws {
        try self.init(place, in: directory, lease: nil)
    }

    init(_ place: ObjectPlace, in directory: String, lease: ObjectSegments.Lease?) throws {
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

    /// Returns the bytes of a place in a segment; fewer than its size only if the disk has lost
    /// some.
    ///
    /// - Throws: What `init` throws.
    static func contents(of place: SegmentPlace, in directory: String) throws -> [UInt8] {
        let file = try FileDescriptor(path: "\(directory)/\(SegmentPlace.path(of: place.number))", .read)
        let (head, bytes) = try file.read(Int(place.size), behind: EntryFormat.headSize, at: place.offset)
        guard EntryFormat.isHead(head, named: place.description) else {
            throw SystemError(.notFound, operation: "find \(place) in", path: file.path)
        }
        return bytes
    }

    /// Reads bytes; fewer than asked for only at the end.
    package func read(_ count: Int, at position: Int64) throws -> [UInt8] {
        try descriptor.read(Int(max(0, min(Int64(count), size - position))), at: start + position)
    }

    /// Fills the buffer from the beginning of the object. Returns the number of bytes read: fewer
    /// only if the object is shorter.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
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
    package func forEachPart(_ body: ([UInt8]) throws -> Void) throws {
        var position: Int64 = 0
        while position < size {
            let bytes = try read(1 << 20, at: position)
            guard !bytes.isEmpty else { return }
            try body(bytes)
            position += Int64(bytes.count)
        }
    }

    /// A span of an object in an open file. The receiver closes the descriptor.
    package struct OpenSpan: Sendable {
        package let descriptor: CInt
        /// The offset of the span in the file.
        package let offset: Int64
        package let length: Int
        /// Keeps the span as it is; nil for a file that is only ever removed as a whole, which
        /// leaves the pages of an open file as they are. The part of a segment is freed once its
        /// object is replaced, and the system then clears pages that a socket may still refer to: a
        /// receiver copies the bytes of a span with a lease.
        package let lease: (any Sendable)?
    }

    /// Gives up the open file for an answer with a span of the object.
    package consuming func release(_ span: Range<Int64>) -> OpenSpan {
        let (offset, lease) = (start + span.lowerBound, lease)
        return OpenSpan(descriptor: descriptor.release(), offset: offset, length: span.count, lease: lease)
    }
}
