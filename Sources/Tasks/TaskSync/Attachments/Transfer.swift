import Cryptography
import DocumentClient
import DocumentModel
package import ObjectStorage
import SystemIO
import TaskFolder
package import TaskModel

/// The upload or download of an attachment.
///
/// The transfers of a machine, and their ids, follow from files and documents. So they survive a
/// restart without records of their own; parts that were transferred are found again by their
/// chunks.
package struct Transfer: Sendable {
    package enum Work: Sendable {
        case upload(UploadTask)
        case download(DownloadTask)
    }

    package enum Phase: Sendable, Hashable {
        case queued
        case running
        case paused
        /// Failed, and will be tried again later.
        case waiting(String)
        case done
        case failed(String)
        case cancelled

        package var isOver: Bool {
            switch self {
            case .done, .failed, .cancelled: true
            case .queued, .running, .paused, .waiting: false
            }
        }

        package var hasFailed: Bool { if case .failed = self { true } else { false } }
    }

    package let id: String
    package let task: TaskID
    /// The attachment; nil for the upload of a file that has none yet.
    package var attachment: AttachmentID?
    package let name: String
    package let isUpload: Bool
    package var phase = Phase.queued
    package var size: Int64
    package var work: Work?
    /// The last known progress, also after the end.
    package var snapshot: TransferSnapshot?
    /// The number of bytes that an earlier run had transferred. The present run finds them again;
    /// until then they count as done.
    var earlier: Int64 = 0
    /// The number of bytes of the file that are in place. It never decreases.
    package var bytesDone: Int64 { max(snapshot?.bytesDone ?? 0, min(earlier, size)) }
    var content: ContentReference?
    /// The name of the incoming file for a download. Each attachment has its own, even if two have
    /// the same content: one of them may be executable.
    var incoming: String? {
        content.map { content in
            let words = [task.rawValue, attachment?.rawValue ?? name, content.id.hex]
            return String(SHA256.hash(words.joined(separator: "\n")).hex.prefix(40))
        }
    }
    /// The user in whose namespace the objects are. In a shared list each user owns the attachments
    /// that they uploaded.
    var owner: UserID?
    var sha256: String?
    /// The size that a download may have.
    var expected = ExpectedSize.atMost(0)
    /// The key of the object that identifies the content of a download.
    var contentKey: String? {
        guard let content, let owner, let namespace = try? ObjectNamespace(user: owner.rawValue) else { return nil }
        return content.key(in: namespace).text
    }
    /// Whether the file is executable.
    var isExecutable = false
    /// The time when the content of a download was last changed.
    var modifiedTime: Timestamp?
    /// Whether everything is uploaded again because the objects in the store are damaged.
    var isRepair = false
    var delay = Backoff.firestore
    /// The number of consecutive refusals by the store to give another user's object.
    var refusals = 0
    /// The number of consecutive answers of the store that were missing or damaged; see
    /// `TransferFailure`.
    var wrongAnswers = 0
    /// Whether machines that have the file were asked, by a mark in its document, to upload it
    /// again.
    enum Repair: Sendable, Hashable {
        case none, asked, done
    }
    var repair = Repair.none
    /// Whether the disk was too full for the file at the last attempt.
    var isShortOfSpace = false
    /// Whether the transfer probably cannot continue until the store is repaired or the disk has
    /// room. It is tried again nevertheless, but a command that waits for a sync does not wait for
    /// it.
    package var needsHelp: Bool {
        guard case .waiting = phase else { return false }
        return isShortOfSpace || wrongAnswers >= TransferFailure.damageLimit
    }
    /// The number of starts. It distinguishes reports of an earlier run from those of the present
    /// one.
    package var run = 0
    /// The position in the order of creation.
    var number = 0
    /// Whether the bytes are in place and only the record of that is missing, which is made for
    /// several transfers together.
    var isStored = false
}
