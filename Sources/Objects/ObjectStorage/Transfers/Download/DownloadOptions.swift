package import SystemIO

/// The options of a download.
package struct DownloadOptions: Sendable {
    /// The name of the file for messages; nil for that of the destination.
    package var name: String?
    /// The size of the file as far as the caller knows. Content of another size is rejected before
    /// anything is written.
    package var size = ExpectedSize.atMost(Manifest.fileLimit)
    /// The hash of the whole content; nil if the caller does not know it.
    package var sha256: ContentHash?
    /// The path of the partial file, on the same file system; nil for a path beside the
    /// destination. A later download with the same content and partial file continues from there.
    package var partial: String?
    /// The path of a file that may contain some of the chunks, such as an earlier version; nil if
    /// there is none.
    package var base: String?
    /// The key of the manifest of `base`; nil if it is not known. With it, `base` need not be read
    /// to find its chunks.
    package var baseListing: ObjectKey?
    /// Whether fingerprints of the chunks of a long file are computed, for the upload of its next
    /// version.
    package var isMarked = false
    /// Whether the file is synced to disk before it is moved to its destination; false if
    /// `placement` does that.
    package var isSynced = true
    /// The modification time of the file; nil for the time of the download.
    package var modified: FileTime?
    package var isExecutable = false
    /// Moves the finished file at a path to its destination; nil for a plain rename. It throws if
    /// the file must not be put there.
    package var placement: (@Sendable (_ finished: String) async throws -> Void)?

    /// Creates the default options.
    package init() {}
}
