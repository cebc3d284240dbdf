import DocumentClient
import ObjectStorage
import SystemIO

/// Decides what becomes of a transfer that has failed. Pure.
enum TransferFailure {
    enum Verdict: Hashable {
        case cancelled
        /// Nothing helps until the file, the attachment or a setting changes.
        case final
        /// Tried again after the usual waits.
        case retry
        /// The disk is full: what came already is given back, and the download is tried again after the usual waits.
        case waitForSpace
        /// What the store answered is missing or is not what was put there. Tried again: a store
        /// that is being moved, a cache or a portal's page answers wrongly for a while only.
        ///
        /// - Parameter reports: whether machines that have the file are asked to put it there again.
        case retryDamaged(reports: Bool)
    }

    /// The wrong answers in a row after which the content counts as damaged: one or two may be a portal's page.
    static let damageLimit = 3

    /// - Parameter wrongAnswers: how many answers in a row were missing or damaged, this one included.
    static func verdict(_ code: ObjectStorageError.Code?, isUpload: Bool, wrongAnswers: Int) -> Verdict {
        switch code {
        case .cancelled?: .cancelled
        case .invalid?: .final
        case .notFound?, .corrupt?: isUpload ? .final : .retryDamaged(reports: wrongAnswers >= damageLimit)
        case .full?: isUpload ? .retry : .waitForSpace
        default: .retry
        }
    }

    /// How long a download of damaged content waits: each half to all of a limit that doubles from
    /// one second to 15 minutes.
    ///
    /// - Parameter random: evenly spread over 0 ..< 1.
    static func pause(wrongAnswers: Int, random: Double) -> Duration {
        let limit = min(Duration.seconds(1 << min(max(wrongAnswers - 1, 0), 10)), .seconds(15 * 60))
        return limit * (0.5 + 0.5 * min(max(random, 0), 1))
    }
}

/// Decides whether a file may be downloaded to a disk: some of it is left for tasks, the state file
/// and other programs. Pure.
struct DiskReserve: Hashable {
    /// The bytes that a normal user may still use, and the size of the file system.
    let available: Int64
    let total: Int64

    /// What downloads leave: 1 %, at least 64 MiB, but no more than an eighth of a small disk.
    var reserve: Int64 { min(max(64 << 20, total / 100), total / 8) }

    /// How many bytes are lacking for a file of which `need` bytes are still to come; nil where it fits.
    ///
    /// - Parameter promised: what other downloads are still going to write.
    func lacking(for need: Int64, promised: Int64 = 0) -> Int64? {
        let (wanted, overflows) = max(0, need).addingReportingOverflow(max(0, promised))
        let free = available.saturatingSubtracted(by: reserve)
        guard overflows || wanted > free else { return nil }
        return overflows ? .max : wanted.saturatingSubtracted(by: free)
    }
}
