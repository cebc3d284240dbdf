/// The compression of chunks before they are uploaded.
public enum CompressionPolicy: Hashable, Sendable {
    /// zlib, if the type or a sample of the bytes promises a gain. The level follows the measured
    /// speed of the network and of the compressor; chunks are left uncompressed if that is at least
    /// twice as fast.
    case automatic
    /// zlib at this level, from 1 (fast) to 9 (small), if the type or a sample of the bytes
    /// promises a gain.
    case level(Int)
    /// No compression.
    case off

    var level: Int? {
        switch self {
        // The fast level, until something has been measured; see `CompressionTuner.levels`.
        case .automatic: 1
        case .level(let level): max(1, min(level, 9))
        case .off: nil
        }
    }
}
