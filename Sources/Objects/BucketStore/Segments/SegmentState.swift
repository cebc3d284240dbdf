import SystemIO

/// The state of its segments that a store needs when it opens. It was recorded when the store was
/// closed, or is computed from all records.
struct SegmentState: Sendable, Equatable {
    /// A number greater than that of every segment that ever existed.
    var nextNumber = 1
    /// The bytes in use of each segment.
    var live: [Int: Int64] = [:]

    init(nextNumber: Int = 1, live: [Int: Int64] = [:]) {
        self.nextNumber = nextNumber
        self.live = live
    }

    // MARK: noted

    private static let firstLine = "segments"
    private static let lastLine = "end"

    /// Parses the text that `bytes` returned; nil for any other text.
    init?(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 4, lines[0] == Self.firstLine, lines.suffix(2).elementsEqual([Self.lastLine[...], ""]),
            let next = Int(lines[1]), SegmentPlace.numbers.contains(next)
        else { return nil }
        nextNumber = next
        for line in lines[2..<lines.count - 2] {
            let numbers = line.split(separator: " ")
            guard numbers.count == 2, let number = Int(numbers[0]), let size = Int64(numbers[1]), size > 0,
                (1..<next).contains(number)
            else { return nil }
            live[number] = size
        }
    }

    /// The state as the text that the store records when it is closed.
    var bytes: [UInt8] {
        let lines = live.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
        return Array("\(Self.firstLine)\n\(nextNumber)\n\(lines)\(Self.lastLine)\n".utf8)
    }

    // MARK: found

    /// Computes the state from all records, and frees the space that no record refers to. Call
    /// before the directory is used.
    ///
    /// Only records count, because an object is durable before its record is. Entries outside the
    /// places that records name, complete or torn, are unused.
    ///
    /// - Parameters:
    ///   - directory: The store's directory.
    ///   - places: The places that records refer to.
    init(recovering directory: String, _ places: [SegmentPlace]) throws {
        let byNumber = Dictionary(grouping: places, by: \.number)
        let numbers = try Self.numbers(in: directory)
        for number in numbers {
            let path = "\(directory)/\(SegmentPlace.path(of: number))"
            guard let places = byNumber[number] else {
                try FileSystem.remove(path)
                continue
            }
            try Self.punch(FileDescriptor(path: path, .readWrite), outside: places.map(\.blocks))
        }
        nextNumber = (numbers.union(byNumber.keys).max() ?? 0) + 1
        live = byNumber.mapValues { $0.reduce(0) { $0 + $1.blocks.length } }
    }

    /// Returns the numbers of the segments in the directory.
    static func numbers(in directory: String) throws -> Set<Int> {
        let names = try Directory(path: "\(directory)/segments").entries().map(\.name)
        return Set(
            names.compactMap { name in
                Int(name).flatMap { String($0) == name && SegmentPlace.numbers.contains($0) ? $0 : nil }
            })
    }

    private static func punch(_ file: borrowing FileDescriptor, outside spans: [Range<Int64>]) throws {
        // The file system frees whole blocks only.
        let block = EntryFormat.block
        let end = (try file.status().size + block - 1) / block * block
        var position = EntryFormat.block
        for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) + [end..<end] {
            if position < span.lowerBound,
                try !file.punchHole(at: position, count: span.lowerBound - position)
            {
                return
            }
            position = max(position, span.upperBound)
        }
    }
}
