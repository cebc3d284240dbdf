import SystemIO

/// What the owner of a download knows of the file's size before anything of it has come.
///
/// The number comes from a document that another machine or account has written. Content of any other size is refused before
/// a byte of it is written, so that a limit which the owner applies to the number holds for the file as well.
package enum ExpectedSize: Hashable, Sendable {
    /// As many bytes as this.
    case exactly(Int64)
    /// No more bytes than this; it is not known how many.
    case atMost(Int64)

    private static let shortManifest: Int64 = 64 << 10

    /// The most bytes that can come.
    var limit: Int64 {
        switch self {
        case .exactly(let size), .atMost(let size): max(0, size)
        }
    }

    /// The longest manifest that is read for a file of this size. No chunk but the last is shorter than the least length; a
    /// short manifest is read in any case, so that a wrong size is told by its number.
    var manifestLimit: Int {
        let chunkCount = limit / Int64(ChunkSizes.standard.minimum) + 1
        let bytes = chunkCount.saturatingMultiplied(by: Int64(Manifest.entryLimit))
        let most = bytes.saturatingAdded(to: Int64(Manifest.frameLimit))
        return Int(clamping: min(max(most, Self.shortManifest), Int64(Manifest.byteLimit)))
    }

    /// Throws `.corrupt` where `size` is not the size that was declared, `.invalid` where it is beyond a limit.
    ///
    /// - Parameter name: of the file, for the message.
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
