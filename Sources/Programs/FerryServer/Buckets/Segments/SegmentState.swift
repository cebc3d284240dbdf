import SystemIO

/// What a start has to know of the segments: found by a look at all records, or noted when the store was closed.
struct SegmentState: Sendable, Equatable {
    /// Above that of every segment there ever was.
    var nextNumber = 1
    /// Bytes in use of each segment.
    var live: [Int: Int64] = [:]

    init(nextNumber: Int = 1, live: [Int: Int64] = [:]) {
        self.nextNumber = nextNumber
        self.live = live
    }

    // MARK: noted

    private static let firstLine = "segments"
    private static let lastLine = "end"

    /// Nil where the bytes are not what `bytes` gave.
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

    var bytes: [UInt8] {
        let lines = live.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
        return Array("\(Self.firstLine)\n\(nextNumber)\n\(lines)\(Self.lastLine)\n".utf8)
    }

    // MARK: found

    /// Gives back what no record refers to, before anybody else uses the directory.
    ///
    /// Only records count, as an object is durable before its record is: what lies between the places that they name, whole
    /// or torn, is nobody's.
    ///
    /// - Parameter directory: the store's.
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

    /// Of the segments that are there.
    static func numbers(in directory: String) throws -> Set<Int> {
        let names = try Directory(path: "\(directory)/segments").entries().map(\.name)
        return Set(
            names.compactMap { name in
                Int(name).flatMap { String($0) == name && SegmentPlace.numbers.contains($0) ? $0 : nil }
            })
    }

    private static func punch(_ file: borrowing FileDescriptor, outside spans: [Range<Int64>]) throws {
        // A part of a block is not given back.
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
