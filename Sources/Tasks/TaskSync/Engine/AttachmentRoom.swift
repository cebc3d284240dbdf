import DocumentClient
import DocumentModel
import SystemIO
import TaskModel

/// Decides how many more attachments a task's document has room for. Pure.
struct AttachmentRoom {
    /// The number of bytes that attachments leave free in a task's document, so that its text can
    /// still be edited a little.
    static let reserve = 512

    let document: DocumentName
    let userID: UserID
    /// The size in bytes, including the attachments that were added.
    private(set) var used: Int

    /// Creates the room of a task's document.
    ///
    /// - Parameter view: The document. Times that the server is still to set count, too.
    init(_ view: DocumentSnapshot, userID: UserID) {
        document = view.name
        self.userID = userID
        used = DocumentLimits.size(of: view.name, fields: view.fields(pendingTimes: .estimate(.distantPast)))
    }

    /// Returns the number of bytes that attachments with these names take, including the user who
    /// attached them and the time.
    func size(of names: [String]) -> Int {
        let digest = String(repeating: "0", count: 64)
        let id = String(repeating: "0", count: 20)
        let empty = DocumentLimits.size(of: document, fields: [:])
        return names.reduce(0) { size, name in
            let sample = TaskAttachment(
                name: name, mimeType: "application/octet-stream", size: 0, sha256: digest,
                manifest: "\(userID)/manifests/00/\(digest)", createdTime: Timestamp(microseconds: 0),
                modifiedTime: Timestamp(microseconds: 0), isExecutable: true)
            let entry: [String: Value] = [id: sample.value, "attachments.\(id)": .map(["by": .string(id)])]
            return size.saturatingAdded(to: DocumentLimits.size(of: document, fields: entry) - empty)
        }
    }

    mutating func add(_ names: [String]) { used = used.saturatingAdded(to: size(of: names)) }

    /// Adds an attachment; returns false if there is no room for it.
    mutating func take(_ name: String) -> Bool {
        let sum = used.saturatingAdded(to: size(of: [name]))
        guard sum.saturatingAdded(to: Self.reserve) <= DocumentLimits.maximumSize else { return false }
        used = sum
        return true
    }
}
