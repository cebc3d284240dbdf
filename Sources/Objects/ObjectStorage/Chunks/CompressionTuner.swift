/// Chooses how hard to compress, by what was measured: the link's rate, and for each type of file and level how quick the
/// compressor was and what it gained. Pure: measures and counts in, a level out.
///
/// A chunk is compressed while others travel, so what takes longer of the two decides. A level is given up for none only where
/// none is twice as quick, because a store keeps for years what a link carries once.
struct CompressionTuner: Sendable {
    /// In this order they get slower and smaller. Of logs and tables: 1 makes 0.259 of the size at 540 MiB/s a core, 2 0.250 at
    /// 180, 4 0.236 at 130, 6 0.214 at 95, 8 0.204 at 26, 9 0.202 at 18.
    static let levels = [1, 6, 8]

    /// Of so many chunks that travel as they are, one is compressed: to learn whether that pays by now.
    static let probeInterval = 32

    private struct Sample {
        /// Raw bytes a second, of one processor.
        var rate: Double
        /// Stored bytes to raw bytes.
        var ratio: Double
    }

    private static let typeLimit = 64
    /// The weight of a new measure.
    private static let weight = 0.25

    private let processors: Double
    private var samples: [MIMEType: [Int: Sample]] = [:]
    /// Bytes a second; nil before it was measured.
    private(set) var linkRate: Double?
    private var uncompressed = 0

    init(processors: Int) { self.processors = Double(max(1, processors)) }

    /// The level for the next chunk of this type; nil: as it is.
    mutating func level(for type: MIMEType) -> Int? {
        guard let linkRate, let known = samples[type], let first = Self.levels.first, known[first] != nil else {
            return Self.levels.first
        }
        func seconds(_ sample: Sample) -> Double { max(1 / (sample.rate * processors), sample.ratio / linkRate) }
        var best: (level: Int, sample: Sample)?
        for level in Self.levels {
            guard let sample = known[level] else { continue }
            // A smaller result for the same time, or nearly, is the better one.
            if let old = best, seconds(sample) > seconds(old.sample) * (sample.ratio < old.sample.ratio ? 1.05 : 0.95) {
                continue
            }
            best = (level, sample)
        }
        guard let best else { return Self.levels.first }
        if 2 / linkRate <= seconds(best.sample) {
            uncompressed += 1
            return uncompressed % Self.probeInterval == 0 ? Self.levels.first : nil
        }
        // The link keeps the processors waiting: is there time for more?
        let isLinkSlow = best.sample.ratio / linkRate > 2 / (best.sample.rate * processors)
        let next = Self.levels.first { $0 > best.level && known[$0] == nil }
        return isLinkSlow ? next ?? best.level : best.level
    }

    /// A chunk of `raw` bytes took `seconds` to become `stored` bytes.
    mutating func compressed(_ type: MIMEType, level: Int, raw: Int, stored: Int, seconds: Double) {
        guard raw > 0, seconds > 0, samples[type] != nil || samples.count < Self.typeLimit else { return }
        let new = Sample(rate: Double(raw) / seconds, ratio: Double(stored) / Double(raw))
        guard let old = samples[type]?[level] else {
            samples[type, default: [:]][level] = new
            return
        }
        samples[type]?[level] = Sample(rate: Self.mix(old.rate, new.rate), ratio: Self.mix(old.ratio, new.ratio))
    }

    /// The link carried `bytes` in `seconds` of being busy.
    mutating func sent(_ bytes: Int, seconds: Double) {
        guard bytes > 0, seconds > 0 else { return }
        let rate = Double(bytes) / seconds
        linkRate = linkRate.map { Self.mix($0, rate) } ?? rate
    }

    private static func mix(_ old: Double, _ new: Double) -> Double { old + (new - old) * weight }
}
