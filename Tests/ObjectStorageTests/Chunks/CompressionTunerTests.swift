import Testing

@testable import ObjectStorage

@Suite struct CompressionTunerTests {
    /// The bytes per second of one processor, and the ratio of compressed to raw bytes, measured on logs and tables.
    private static let zlib: [Int: (rate: Double, ratio: Double)] = [1: (566e6, 0.259), 6: (100e6, 0.214)]

    /// Returns the levels chosen for the last of many chunks with a network of this speed in bytes
    /// per second. Measurements vary by up to a tenth.
    private func levels(link: Double, seed: UInt64, processors: Int = 2, changing: Double? = nil) -> [Int?] {
        var generator = SeededGenerator(seed: seed)
        var tuner = CompressionTuner(processors: processors)
        var chosen: [Int?] = []
        for number in 0..<400 {
            let rate = number < 200 ? link : changing ?? link
            let level = tuner.level(for: .plain)
            chosen.append(level)
            let length = Int.random(in: 256 << 10...2 << 20, using: &generator)
            var stored = length
            if let level, let known = Self.zlib[level] {
                stored = Int(Double(length) * known.ratio * .random(in: 0.95...1.05, using: &generator))
                tuner.compressed(
                    .plain, level: level, raw: length, stored: stored,
                    seconds: Double(length) / (known.rate * .random(in: 0.9...1.1, using: &generator)))
            }
            tuner.sent(stored, seconds: Double(stored) / (rate * .random(in: 0.9...1.1, using: &generator)))
        }
        return Array(chosen.suffix(100))
    }

    @Test(arguments: 0..<10)
    func `a slow link gets the smallest form, a quick one the quickest`(seed: UInt64) {
        #expect(levels(link: 1e6, seed: seed).allSatisfy { $0 == 6 })
        #expect(levels(link: 100e6, seed: seed).allSatisfy { $0 == 1 })
    }

    @Test(arguments: 0..<10)
    func `chunks are not compressed if that is twice as slow as the network, except for probes`(seed: UInt64) {
        let chosen = levels(link: 4e9, seed: seed)
        #expect(chosen.count { $0 == nil } >= 95)
        #expect(chosen.contains(1))
        // The same network is no faster than eight processors compress.
        #expect(levels(link: 4e9, seed: seed, processors: 8).allSatisfy { $0 == 1 })
    }

    @Test(arguments: 0..<10)
    func `a link that changes is followed`(seed: UInt64) {
        #expect(levels(link: 4e9, seed: seed, changing: 1e6).allSatisfy { $0 == 6 })
        #expect(levels(link: 1e6, seed: seed, changing: 4e9).contains(nil))
    }

    @Test func `before anything is measured it is the quick level`() {
        var tuner = CompressionTuner(processors: 2)
        #expect(tuner.level(for: .plain) == 1)
        tuner.sent(1 << 20, seconds: 1)
        #expect(tuner.level(for: .plain) == 1)
    }
}
