/// Chooses a compression level from measurements: the speed of the network, and the speed and the
/// gain of the compressor for each type of file and each level. Pure: the caller passes the
/// measurements.
///
/// Chunks are compressed while others are being uploaded, so the slower of the two decides the
/// time. The tuner prefers no compression only if that is at least twice as fast as every level,
/// because an upload happens once but the store keeps the bytes for years.
struct CompressionTuner: Sendable {
    /// The levels to choose from, ordered from fast to small. Measured on source text: level 1 compresses to 0.269 of
    /// the size at 550 MiB/s per core, 4 to 0.234 at 150, 6 to 0.227 at 104, 8 to 0.223 at 46. Level 8 gains 1 to 3 %
    /// over 6, which is not worth its time.
    static let levels = [1, 6]

    /// The interval of probes: one chunk in this many is compressed although compression was found
    /// too slow, to learn whether that has changed.
    static let probeInterval = 32

    private struct Sample {
        /// Uncompressed bytes per second and processor.
        var rate: Double
        /// The compressed size divided by the uncompressed size.
        var ratio: Double
    }

    private static let typeLimit = 64
    /// The weight of a new measurement in the moving average.
    private static let weight = 0.25

    private let processors: Double
    private var samples: [MIMEType: [Int: Sample]] = [:]
    /// The speed of the network in bytes per second; nil until it is measured.
    private(set) var linkRate: Double?
    private var uncompressed = 0

    /// Creates a tuner without measurements for a device with this number of processors.
    init(processors: Int) { self.processors = Double(max(1, processors)) }

    /// Returns the level for the next chunk of this type, or nil to leave the chunk uncompressed.
    mutating func level(for type: MIMEType) -> Int? {
        guard let linkRate, let known = samples[type], let first = Self.levels.first, known[first] != nil else {
            return Self.levels.first
        }
        func seconds(_ sample: Sample) -> Double { max(1 / (sample.rate * processors), sample.ratio / linkRate) }
        var best: (level: Int, sample: Sample)?
        for level in Self.levels {
            guard let sample = known[level] else { continue }
            // Among levels of about the same time the one with the smaller result is better.
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
        // If the processors wait for the network, a slower level may cost no time.
        let isLinkSlow = best.sample.ratio / linkRate > 2 / (best.sample.rate * processors)
        let next = Self.levels.first { $0 > best.level && known[$0] == nil }
        return isLinkSlow ? next ?? best.level : best.level
    }

    /// Records that a chunk of `raw` bytes was compressed to `stored` bytes in `seconds`.
    mutating func compressed(_ type: MIMEType, level: Int, raw: Int, stored: Int, seconds: Double) {
        guard raw > 0, seconds > 0, samples[type] != nil || samples.count < Self.typeLimit else { return }
        let new = Sample(rate: Double(raw) / seconds, ratio: Double(stored) / Double(raw))
        guard let old = samples[type]?[level] else {
            samples[type, default: [:]][level] = new
            return
        }
        samples[type]?[level] = Sample(rate: Self.mix(old.rate, new.rate), ratio: Self.mix(old.ratio, new.ratio))
    }

    /// Records that the network transferred `bytes` in `seconds`, not counting the time in which it
    /// was idle.
    mutating func sent(_ bytes: Int, seconds: Double) {
        guard bytes > 0, seconds > 0 else { return }
        let rate = Double(bytes) / seconds
        linkRate = linkRate.map { Self.mix($0, rate) } ?? rate
    }

    private static func mix(_ old: Double, _ new: Double) -> Double { old + (new - old) * weight }
}
