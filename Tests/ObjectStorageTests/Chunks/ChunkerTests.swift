import ObjectStorage
import Testing

@Suite struct ChunkerTests {
    private static let small = ChunkSizes(minimum: 1 << 10, normal: 4 << 10, maximum: 16 << 10)

    @Test func `the places are pinned, for they are the format`() {
        let lengths = Chunker.lengths(of: Noise.bytes(6 << 20, seed: 0xFE44))
        #expect(lengths == [514_726, 863_231, 1_252_565, 975_951, 303_000, 977_205, 1_288_345, 116_433])
        let small = Chunker.lengths(of: Noise.bytes(30_000, seed: 7), sizes: Self.small)
        #expect(small == [1170, 3636, 3981, 4011, 4361, 3967, 3684, 3594, 1596])
        #expect(Chunker.lengths(of: [UInt8](repeating: 0, count: 5 << 20)) == [4 << 20, 1 << 20])
    }

    @Test(arguments: 0..<20)
    func `the places do not depend on how the bytes arrive`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let content = Noise.bytes(Int.random(in: 0...200_000, using: &generator), seed: seed)
        var chunker = Chunker(sizes: Self.small)
        var lengths: [Int] = []
        var (start, chunk) = (0, 0)
        while start < content.count {
            let part = min(Int.random(in: 1...20_000, using: &generator), content.count - start)
            let cut = content.withUnsafeBytes {
                chunker.boundary(in: UnsafeRawBufferPointer(rebasing: $0[start..<start + part]))
            }
            chunk += cut ?? part
            start += cut ?? part
            if cut != nil {
                lengths.append(chunk)
                chunk = 0
            }
        }
        if chunk > 0 { lengths.append(chunk) }
        #expect(lengths == Chunker.lengths(of: content, sizes: Self.small), "seed \(seed)")
    }

    @Test(arguments: 0..<20)
    func `many places looked at side by side are those found one by one`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let normal = 4 << Int.random(in: 10...16, using: &generator)
        let sizes = ChunkSizes(minimum: normal / 4, normal: normal, maximum: 4 * normal)
        // A run of one byte has no cut, or one everywhere.
        let content =
            Noise.bytes(Int.random(in: 0...600_000, using: &generator), seed: seed)
            + [UInt8](repeating: UInt8.random(in: 0...255, using: &generator), count: 100_000)
            + Noise.bytes(600_000, seed: seed + 1000)
        #expect(Chunker.lengths(of: content, sizes: sizes) == oneByOne(content, sizes), "seed \(seed)")
    }

    /// Returns the lengths by definition: one word per byte, and a test of the hash after each.
    private func oneByOne(_ content: [UInt8], _ sizes: ChunkSizes) -> [Int] {
        var words: [UInt64] = []
        var state: UInt64 = 0x6665_7272_7963_6463
        for _ in 0..<256 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            words.append(word ^ word >> 31)
        }
        let bits = sizes.normal.trailingZeroBitCount
        var lengths: [Int] = []
        var (hash, length): (UInt64, Int) = (0, 0)
        for byte in content {
            length += 1
            if length > sizes.minimum { hash = hash << 1 &+ words[Int(byte)] }
            let zeros = length <= sizes.normal / 8 * 7 ? bits + 2 : bits - 3
            let isPlace = length > sizes.minimum && hash.leadingZeroBitCount >= zeros
            guard isPlace || length == sizes.maximum else { continue }
            lengths.append(length)
            (hash, length) = (0, 0)
        }
        return length > 0 ? lengths + [length] : lengths
    }

    @Test(arguments: 0..<10)
    func `chunks keep to their sizes and make the whole`(seed: UInt64) {
        let content = Noise.bytes(1 << 18, seed: seed)
        let lengths = Chunker.lengths(of: content, sizes: Self.small)
        #expect(lengths.reduce(0, +) == content.count)
        #expect(lengths.dropLast().allSatisfy { (Self.small.minimum...Self.small.maximum).contains($0) })
        let mean = content.count / lengths.count
        #expect((Self.small.normal / 2...Self.small.normal * 2).contains(mean), "mean \(mean), seed \(seed)")
    }

    @Test(arguments: 0..<10)
    func `an insertion changes the chunks around it only`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let content = Noise.bytes(1 << 18, seed: seed)
        let place = Int.random(in: 0...content.count, using: &generator)
        let edited = content[..<place] + Noise.bytes(100, seed: seed + 1) + content[place...]
        let before = Set(chunks(content))
        let changed = chunks(Array(edited)).filter { !before.contains($0) }
        #expect(changed.count <= 6, "\(changed.count) chunks changed, seed \(seed)")
    }

    @Test func `nothing has no chunks and little has one`() {
        #expect(Chunker.lengths(of: []) == [])
        #expect(Chunker.lengths(of: [1]) == [1])
        #expect(Chunker.lengths(of: Noise.bytes(1024, seed: 1), sizes: Self.small) == [1024])
    }

    private func chunks(_ content: [UInt8]) -> [ContentHash] {
        var start = 0
        return Chunker.lengths(of: content, sizes: Self.small).map { length in
            defer { start += length }
            return ContentHash(of: Array(content[start..<start + length]))
        }
    }
}
