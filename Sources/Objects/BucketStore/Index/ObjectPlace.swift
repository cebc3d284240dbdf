import Cryptography

/// The place of an object's bytes, as the index names it in `file`.
///
/// Only names that a store creates are accepted, so a damaged record cannot lead outside the
/// store's directory.
package enum ObjectPlace: Sendable, Hashable, CustomStringConvertible {
    /// A file of its own below `files`, written as `ab/0123…`.
    case file(String)
    /// A place in a segment, written as `s/1/4096/65536`.
    case segment(SegmentPlace)

    /// Parses a name; returns nil for a text that is not one.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        if let place = SegmentPlace(parts) {
            self = .segment(place)
        } else if parts.count == 2, parts[0].count == 2, parts[1].count == 32,
            parts.allSatisfy({ $0.allSatisfy(Self.isHexDigit) })
        {
            self = .file(text)
        } else {
            return nil
        }
    }

    /// The path of the file, below the store's directory.
    package var path: String {
        switch self {
        case .file(let name): "files/\(name)"
        case .segment(let place): SegmentPlace.path(of: place.number)
        }
    }

    /// The place in the form that messages use.
    package var description: String {
        switch self {
        case .file: path
        case .segment(let place): "\(path) at \(place.offset)"
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// A range of a segment: the head of an entry, followed by an object.
package struct SegmentPlace: Sendable, Hashable, CustomStringConvertible {
    /// The number of the segment.
    package let number: Int
    /// The offset of the head, at the start of a block.
    package let offset: Int64
    /// The size of the object in bytes.
    package let size: Int64

    /// The size in bytes up to which objects are small: they are collected in memory and stored in
    /// segments. Larger ones get files of their own.
    package static let sizeLimit: Int64 = 256 << 10

    package init(number: Int, offset: Int64, size: Int64) {
        self.number = number
        self.offset = offset
        self.size = size
    }

    /// Parses the parts of a name; returns nil if they are not those of a place.
    ///
    /// - Parameter parts: The parts of the name between its slashes.
    init?(_ parts: [Substring.UTF8View.SubSequence]) {
        guard parts.count == 4, parts[0].elementsEqual("s".utf8), let number = Self.number(parts[1]),
            let offset = Self.number(parts[2]), let size = Self.number(parts[3]), offset > 0,
            size <= Self.sizeLimit,
            Int64(offset) % EntryFormat.block == 0
        else { return nil }
        self.init(number: number, offset: Int64(offset), size: Int64(size))
    }

    package var description: String { "s/\(number)/\(offset)/\(size)" }

    /// The offset of the object.
    var start: Int64 { offset + Int64(EntryFormat.headSize) }

    /// The range of blocks that belong to this entry alone.
    var blocks: Range<Int64> { offset..<offset + EntryFormat.entrySize(Int(size)) }

    /// The numbers that segments can have: more than a store ever uses, and small enough that sums
    /// do not overflow.
    static let numbers = 1..<1_000_000_000_000_000

    static func path(of number: Int) -> String { "segments/\(number)" }

    /// Parses digits in the form of `description`, of a number small enough that sums do not
    /// overflow.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int? {
        guard digits.count <= 15, let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
