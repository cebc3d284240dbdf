import SystemIO

/// An open object on the disk.
package struct StoredObject: ~Copyable, Sendable {
    /// The number of bytes that exist; fewer than the record states if the disk has lost some.
    package let size: Int64
    private let descriptor: FileDescriptor
    /// The offset of the object in the file.
    private let start: Int64
    /// Keeps the object's place in a segment of a running store.
    private let lease: ObjectSegments.Lease?

    /// Opens an object of a store that is not running, or an object whose bytes may be replaced
    /// while it is read.
    ///
    /// - Parameters:
    ///   - place: The place from the index.
    ///   - directory: The store's directory.
    /// - Throws: `SystemError` with `.notFound` if the place is empty: the object was never
    ///   written, is lost, or was freed.
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
    /// - Throws: The errors of `init`.
    static func contents(of place: SegmentPlace, in directory: String) throws -> [UInt8] {
        let file = try FileDescriptor(path: "\(directory)/\(SegmentPlace.path(of: place.number))", .read)
        let (head, bytes) = try file.read(Int(place.size), behind: EntryFormat.headSize, at: place.offset)
        guard EntryFormat.isHead(head, named: place.description) else {
            throw SystemError(.notFound, operation: "find \(place) in", path: file.path)
        }
        return bytes
    }

    /// Returns `count` bytes; fewer only at the end of the object.
    package func read(_ count: Int, at position: Int64) throws -> [UInt8] {
        try descriptor.read(Int(max(0, min(Int64(count), size - position))), at: start + position)
    }

    /// Fills the buffer from the start of the object. Returns the number of bytes read; fewer than
    /// requested only if the object is shorter.
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

    /// A range of an object in an open file. The receiver closes the descriptor.
    package struct OpenSpan: Sendable {
        package let descriptor: CInt
        /// The offset of the range in the file.
        package let offset: Int64
        package let length: Int
        /// Keeps the bytes of the range unchanged; nil for a file, which is only ever removed as a
        /// whole, and whose pages stay unchanged while it is open.
        ///
        /// A part of a segment is freed once its object is replaced, and the system then clears
        /// pages that a socket may still refer to. A receiver must therefore copy the bytes of a
        /// range with a lease.
        package let lease: (any Sendable)?
    }

    /// Returns a range of the object for a response, and gives up the open file.
    package consuming func release(_ span: Range<Int64>) -> OpenSpan {
        let (offset, lease) = (start + span.lowerBound, lease)
        return OpenSpan(descriptor: descriptor.release(), offset: offset, length: span.count, lease: lease)
    }
}
