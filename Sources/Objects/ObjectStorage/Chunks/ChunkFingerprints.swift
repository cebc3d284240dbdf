import Cryptography

/// The fingerprints of the chunks of one file, in the order of its manifest. They let a device
/// recognize chunks that it has read before in a ninth of the time that computing their ids takes.
///
/// A fingerprint is a GMAC of the chunk under a random secret key, one per file. The fingerprints
/// never leave the device.
package struct ChunkFingerprints: Hashable, Sendable {
    private let key: [UInt8]
    var marks: [[UInt8]]

    /// Creates an empty list under a new random key.
    package init() {
        key = RandomBytes.make(GMAC.keyByteCount)
        marks = []
    }

    /// Restores a list from its `bytes`; nil if they cannot be such a list.
    package init?(bytes: [UInt8]) {
        guard bytes.count >= GMAC.keyByteCount, (bytes.count - GMAC.keyByteCount) % GMAC.tagByteCount == 0 else {
            return nil
        }
        key = Array(bytes.prefix(GMAC.keyByteCount))
        marks = stride(from: GMAC.keyByteCount, to: bytes.count, by: GMAC.tagByteCount).map {
            Array(bytes[$0..<$0 + GMAC.tagByteCount])
        }
    }

    /// The key and all fingerprints, in the form that `init(bytes:)` takes.
    package var bytes: [UInt8] { key + marks.joined() }

    /// Returns the fingerprint of `chunk`.
    func mark(of chunk: ArraySlice<UInt8>) -> [UInt8] { GMAC(key: key).tag(of: chunk) }
}
