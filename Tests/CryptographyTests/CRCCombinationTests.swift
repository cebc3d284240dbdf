import Testing

@testable import Cryptography

struct CRCCombinationTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `checks of neighbouring bytes are, joined, the check of the whole`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Some pieces are empty.
        let pieces = (0..<Int.random(in: 1...6, using: &random)).map { _ in
            let count =
                Bool.random(using: &random)
                ? Int.random(in: 0...3, using: &random) : .random(in: 0...70_000, using: &random)
            return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let whole = pieces.flatMap(\.self)
        for polynomial in [CRC32.Polynomial.ieee, .castagnoli] {
            var (joined, expected) = (CRC32(polynomial), CRC32(polynomial))
            for piece in pieces {
                var check = CRC32(polynomial)
                check.update(piece)
                joined.append(check.bytes, length: Int64(piece.count))
            }
            expected.update(whole)
            #expect(joined.bytes == expected.bytes)
        }
        var (joined, expected) = (CRC64(), CRC64())
        for piece in pieces {
            var check = CRC64()
            check.update(piece)
            joined.append(check.bytes, length: Int64(piece.count))
        }
        expected.update(whole)
        #expect(joined.bytes == expected.bytes)
    }

    @Test func `checks are combined for any length of the bytes`() {
        // 5 GiB of zeros: 5 times 1 GiB, which is one MiB doubled ten times.
        var piece = CRC64()
        piece.update([UInt8](repeating: 0, count: 1 << 20))
        var length: Int64 = 1 << 20
        while length < 1 << 30 {
            piece.append(piece.bytes, length: length)
            length *= 2
        }
        var (five, other) = (CRC64(), piece)
        for _ in 0..<5 { five.append(piece.bytes, length: length) }
        var four = CRC64()
        for _ in 0..<4 { four.append(piece.bytes, length: length) }
        other.append(four.bytes, length: 4 * length)
        #expect(five.bytes == other.bytes)
    }
}
