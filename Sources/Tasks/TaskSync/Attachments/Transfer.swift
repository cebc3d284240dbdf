import Cryptography
import DocumentClient
import DocumentModel
package import ObjectStorage
import SystemIO
import TaskFolder
import TaskModel

/// An attachment on its way up or down.
///
/// That it is to be moved follows from files and documents, and so does its id, so it survives a
/// restart without a record of its own; what was moved already is found again by its chunks.
package struct Transfer: Sendable {
    package enum Work: Sendable {
        case upload(UploadTask)
        case download(DownloadTask)
    }

    package enum Phase: Sendable, Hashable {
        case queued
        case running
        case paused
        /// Failed for now; tried again after a while.
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
    package let task: String
    /// nil for an upload of a file that has no attachment yet.
    package var attachment: String?
    package let name: String
    package let isUpload: Bool
    package var phase = Phase.queued
    package var size: Int64
    package var work: Work?
    /// The last thing known of the bytes, also when it is over.
    package var snapshot: TransferSnapshot?
    /// Bytes that an earlier run had done: they are found again by the present one, and count until it has come as far.
    var earlier: Int64 = 0
    /// Of the file, in place. Never goes back.
    package var bytesDone: Int64 { max(snapshot?.bytesDone ?? 0, min(earlier, size)) }
    var content: ContentReference?
    /// The incoming file that a download grows in. One of its own for each attachment, also where
    /// two have the same content: another one may be a program.
    var incoming: String? {
        content.map { content in
            let words = [task, attachment ?? name, content.id.hex]
            return String(SHA256.hash(words.joined(separator: "\n")).hex.prefix(40))
        }
    }
    /// Whose objects the bytes are among: of a shared list's attachments each user keeps those that he uploaded.
    var owner: UserID?
    var sha256: String?
    /// How many bytes a file that comes may have.
    var expected = ExpectedSize.atMost(0)
    /// The key of the object through which the content of a file that comes is found.
    var contentKey: String? {
        guard let content, let owner, let namespace = try? ObjectNamespace(user: owner.rawValue) else { return nil }
        return content.key(in: namespace).text
    }
    /// Of the file that comes or goes.
    var isExecutable = false
    /// Of a file that comes: when its content was last changed.
    var modifiedTime: Timestamp?
    /// Whether it puts everything anew, since what the store has is damaged.
    var isRepair = false
    var delay = Backoff.firestore
    /// How many times in a row the store has refused to give another user's object.
    var refusals = 0
    /// How many answers of the store in a row were missing or damaged; see `TransferFailure`.
    var wrongAnswers = 0
    /// Whether machines that have the file were asked, by a mark in its document, to put it there again.
    enum Repair: Sendable, Hashable {
        case none, asked, done
    }
    var repair = Repair.none
    /// Whether the disk had no room for the file when it was last tried.
    var isShortOfSpace = false
    /// Whether it will not go on until the store is repaired or the disk has room, as far as is
    /// known. It is tried again all the same, but whoever waits for a sync need not wait for it.
    package var needsHelp: Bool {
        guard case .waiting = phase else { return false }
        return isShortOfSpace || wrongAnswers >= TransferFailure.damageLimit
    }
    /// Grows with each start, so that news of an earlier run is told from that of this one.
    package var run = 0
    /// The order in which transfers came.
    var number = 0
    /// Its bytes are where they belong; what is left is to say so, together with others.
    var isStored = false
}
