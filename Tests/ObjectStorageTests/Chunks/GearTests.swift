import CGear
import Testing

@testable import ObjectStorage

@Suite struct GearTests {
    /// Rolls the hash byte by byte. Returns nil where a hash has all bits of the mask zero.
    private func rolled(_ bytes: [UInt8], _ mask: UInt64, _ hash: UInt64) -> UInt64? {
        var hash = hash
        for byte in bytes {
            hash = hash << 1 &+ Gear.table[Int(byte)]
            if hash & mask == 0 { return nil }
        }
        return hash
    }

    @Test(.enabled(if: ferry_gear_has_instructions() != 0), arguments: 0..<40 as Range<UInt64>)
    func `sixteen segments at once have the hash and the cuts of one byte after another`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let bytes = Noise.bytes(Int(ferry_gear_block), seed: seed)
        // About half of the blocks have a cut.
        let mask: UInt64 = ~0 << (64 - UInt64.random(in: 10...18, using: &generator))
        let start = UInt64.random(in: 0 ... .max, using: &generator)
        var hash = start
        let passes = ferry_gear_passes(Gear.table, bytes, mask, &hash) != 0
        let expected = rolled(bytes, mask, start)
        #expect(passes == (expected != nil))
        #expect(hash == expected ?? start)
    }
}
