import DocumentClient
import ObjectStorage
import SystemIO

/// Decides what happens to a transfer that has failed. Pure.
enum TransferFailure {
    enum Verdict: Hashable {
        case cancelled
        /// The transfer cannot succeed until the file, the attachment or a setting changes.
        case final
        /// The transfer is tried again after the usual delays.
        case retry
        /// The disk is full: the partial file is removed, and the download is tried again after the
        /// usual delays.
        case waitForSpace
        /// The store's answer is missing or has the wrong content. The transfer is tried again,
        /// because a store that is being moved, a cache, or the page of a network portal gives
        /// wrong answers only for a while.
        ///
        /// - Parameter reports: Whether machines that have the file are asked to upload it again.
        case retryDamaged(reports: Bool)
    }

    /// The number of consecutive wrong answers after which the content counts as damaged. One or
    /// two may be the page of a network portal.
    static let damageLimit = 3

    /// Returns what happens after a failure.
    ///
    /// - Parameter wrongAnswers: The number of consecutive missing or damaged answers, this one
    ///   included.
    static func verdict(_ code: ObjectStorageError.Code?, isUpload: Bool, wrongAnswers: Int) -> Verdict {
        switch code {
        case .cancelled?: .cancelled
        case .invalid?: .final
        case .notFound?, .corrupt?: isUpload ? .final : .retryDamaged(reports: wrongAnswers >= damageLimit)
        case .full?: isUpload ? .retry : .waitForSpace
        default: .retry
        }
    }

    /// Returns the delay before the next download of damaged content: between half and all of a
    /// limit that doubles from one second up to 15 minutes.
    ///
    /// - Parameter random: A number uniformly distributed over 0 ..< 1.
    static func pause(wrongAnswers: Int, random: Double) -> Duration {
        let limit = min(Duration.seconds(1 << min(max(wrongAnswers - 1, 0), 10)), .seconds(15 * 60))
        return limit * (0.5 + 0.5 * min(max(random, 0), 1))
    }
}

/// Decides whether a file may be downloaded to a disk. Some space is left for tasks, the state file
/// and other programs. Pure.
struct DiskReserve: Hashable {
    /// The bytes that a normal user may still use, and the size of the file system.
    let available: Int64
    let total: Int64

    /// The space that downloads leave free: 1 % of the disk, at least 64 MiB, at most an eighth of
    /// a small disk.
    var reserve: Int64 { min(max(64 << 20, total / 100), total / 8) }

    /// Returns the number of bytes that are lacking for a file; nil if it fits.
    ///
    /// - Parameters:
    ///   - need: The number of bytes that are still to be downloaded.
    ///   - promised: The number of bytes that other downloads will still write.
    func lacking(for need: Int64, promised: Int64 = 0) -> Int64? {
        let (wanted, overflows) = max(0, need).addingReportingOverflow(max(0, promised))
        let free = available.saturatingSubtracted(by: reserve)
        guard overflows || wanted > free else { return nil }
        return overflows ? .max : wanted.saturatingSubtracted(by: free)
    }
}
