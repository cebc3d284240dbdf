/// How hard to try to make chunks smaller before they travel.
public enum CompressionPolicy: Hashable, Sendable {
    /// zlib where the type or a probe of the bytes promises a gain, at a level that suits what was measured of the link and of
    /// the compressor; not at all where that is twice as quick.
    case automatic
    /// zlib at this level, 1 (quick) to 9 (small), where the type or a probe promises a gain.
    case level(Int)
    /// Chunks are stored as they are.
    case off

    var level: Int? {
        switch self {
        // What nothing is known of is compressed quickly, see `CompressionTuner.levels`.
        case .automatic: 1
        case .level(let level): max(1, min(level, 9))
        case .off: nil
        }
    }
}
