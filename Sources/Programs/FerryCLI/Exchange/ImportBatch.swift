import Control
import JSON
import SystemIO

/// The records that are added by one call, with those between them that are not added, in the order
/// of the source.
struct ImportBatch {
    struct Entry {
        /// The title, path or line, for messages.
        var name: String
        var finding: Finding
        /// The differences from the source, one sentence each.
        var changes: [String] = []
        /// The file that the record comes from, with attachments.
        var file: TaskDirectory.File?
    }

    /// The knowledge of a record before it is added.
    enum Finding {
        case new(TaskChange)
        /// The record exists; with the task whose missing attachments are to be attached.
        case alreadyThere(TaskSummary?)
        case leftOut(String)
    }

    private(set) var entries: [Entry] = []
    private(set) var changes: [TaskChange] = []
    private var bytes = 0

    /// The maximum size of the tasks in a request, with the commas between them. The rest of the
    /// request has less than 64 bytes.
    private static let bytesLimit = ControlLimit.bodyBytes - 64

    /// Adds an entry unless the call would exceed the limits of the control protocol. An empty batch
    /// takes any entry.
    ///
    /// - Returns: Whether the entry was added.
    mutating func append(_ entry: Entry) -> Bool {
        if case .new(let change) = entry.finding {
            let total = bytes.saturatingAdded(to: change.json.bytes.count).saturatingAdded(to: 1)
            guard changes.isEmpty || (changes.count < ControlLimit.newTasks && total <= Self.bytesLimit) else {
                return false
            }
            changes.append(change)
            bytes = total
        }
        entries.append(entry)
        return true
    }
}
