import SystemIO
import SystemTestKit
import Testing

@testable import ServerData

struct FileDeltaTests {
    /// A file, and an older copy of it.
    private struct Pair {
        let directory: TemporaryDirectory
        var file: String { "\(directory.path)/file" }
        var copy: String { "\(directory.path)/copy" }
        var received: ReceivedDelta { ReceivedDelta(path: "\(directory.path)/delta", copy: copy) }

        init(_ new: [UInt8], older: [UInt8]?) throws {
            directory = try TemporaryDirectory()
            try FileSystem.replace(file, with: new)
            if let older { try FileSystem.replace(copy, with: older) }
        }

        /// Returns the delta between the two.
        func delta() throws -> [UInt8] {
            let writer = try FileDeltaWriter(
                try FileDescriptor(path: file, .read), known: try FileBlocks.sums(of: copy))
            var delta: [UInt8] = []
            while let piece = try writer.next() { delta += piece }
            return delta
        }

        func receive(_ delta: [UInt8]) throws { try FileSystem.replace(received.path, with: delta) }
    }

    private static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }

    private static let size = FileBlocks.size

    @Test(
        arguments: [0, 1, size - 1, size, size + 1, 3 * size, 130 * size + 7],
        [nil, 0, 1, size, 5 * size + 3, 140 * size])
    func `a delta makes any older copy the file`(count: Int, older: Int?) throws {
        let new = Self.bytes(count)
        var old = older.map { Self.bytes($0) }
        // One block in the middle differs, too.
        if let count = old?.count, count > 2 * Self.size { old?[Self.size + 5] ^= 1 }
        let pair = try Pair(new, older: old)
        try pair.receive(pair.delta())
        try pair.received.check()
        // An application that was interrupted is repeated.
        for _ in 0..<2 {
            try pair.received.apply()
            #expect(try FileSystem.read(pair.copy) == new)
        }
        // Now nothing differs.
        #expect(try pair.delta().count == FileDelta.headSize + FileDelta.indexSize + FileDelta.digestSize)
    }

    @Test func `only blocks that differ are sent`() throws {
        var old = Self.bytes(100 * Self.size)
        let new = old
        for block in [0, 17, 99] { old[block * Self.size] ^= 1 }
        let delta = try Pair(new, older: old).delta()
        #expect((3 * Self.size..<3 * Self.size + 200).contains(delta.count))
    }

    @Test func `a delta that is cut, changed, or for another copy is refused, and the copy stays`() throws {
        let (new, old) = (Self.bytes(5 * Self.size), Self.bytes(3 * Self.size, seed: 2))
        let pair = try Pair(new, older: old)
        let delta = try pair.delta()
        var damaged = [delta.dropLast(1), delta.prefix(FileDelta.headSize), [], delta.prefix(2 * Self.size)].map(
            Array.init)
        for place in [0, 9, FileDelta.headSize, FileDelta.headSize + 1, 2 * Self.size, delta.count - 1] {
            var changed = delta
            changed[place] ^= 0x41
            damaged.append(changed)
        }
        // Lengths that no delta can have.
        for length in [Int64.max, FileDelta.maximumLength + 1] {
            var changed = delta
            withUnsafeBytes(of: length.littleEndian) {
                changed.replaceSubrange(FileDelta.mark.count..<FileDelta.headSize, with: $0)
            }
            damaged.append(changed)
        }
        for delta in damaged {
            try pair.receive(delta)
            #expect(throws: ServerError.self) { try pair.received.check() }
        }
        // The delta lacks the blocks that the older copy had when it was made.
        let other = try Pair(new, older: new)
        try pair.receive(other.delta())
        #expect(throws: ServerError.self) { try pair.received.check() }
        #expect(try FileSystem.read(pair.copy) == old)
    }
}
