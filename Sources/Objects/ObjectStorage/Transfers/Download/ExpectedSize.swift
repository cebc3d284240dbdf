import SystemIO

/// The size that a download expects before anything has arrived.
///
/// The number comes from a document that another device or account has written. Content of any
/// other size is rejected before anything is written, so a limit that the caller applies to the
/// number also holds for the file.
package enum ExpectedSize: Hashable, Sendable {
    /// Exactly this number of bytes.
    case exactly(Int64)
    /// A size that is not known, but at most this number of bytes.
    case atMost(Int64)

    private static let shortManifest: Int64 = 64 << 10

    /// The maximum number of bytes.
    var limit: Int64 {
        switch self {
        case .exactly(let size), .atMost(let size): max(0, size)
        }
    }

    /// The maximum number of bytes of a manifest of such a file. All chunks but the last have the
    /// minimum length. A short manifest is always allowed, so that a wrong size can be reported
    /// with the number that the manifest contains.
    var manifestLimit: Int {
        let chunkCount = limit / Int64(ChunkSizes.standard.minimum) + 1
        let bytes = chunkCount.saturatingMultiplied(by: Int64(Manifest.entryLimit))
        let most = bytes.saturatingAdded(to: Int64(Manifest.frameLimit))
        return Int(clamping: min(max(most, Self.shortManifest), Int64(Manifest.byteLimit)))
    }

    /// Throws `.corrupt` if `size` is not the declared size, and `.invalid` if it exceeds a limit.
    ///
    /// - Parameter name: The name of the file, for the message.
    func check(_ size: Int64, of name: String) throws(ObjectStorageError) {
        switch self {
        case .exactly(let declared) where size != declared:
            throw ObjectStorageError(
                .corrupt, "\(name) has \(size) bytes in the store, and its task says \(declared)")
        case .atMost(let limit) where size > limit:
            throw ObjectStorageError(.invalid, "\(name) has \(size) bytes, and at most \(limit) are accepted")
        default: break
        }
    }
}
