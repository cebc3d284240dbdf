import DocumentClient
import DocumentModel
import SystemIO
import TaskModel

/// Decides how many more attachments a task's document has room for. Pure.
struct AttachmentRoom {
    /// What attachments leave of a task's document, in bytes, so that its text can still be edited a little.
    static let reserve = 512

    let document: DocumentName
    let userID: UserID
    /// In bytes, with the attachments that were added.
    private(set) var used: Int

    /// - Parameter view: The task's document. Times that the server is still to set take their room too.
    init(_ view: DocumentSnapshot, userID: UserID) {
        document = view.name
        self.userID = userID
        used = DocumentLimits.size(of: view.name, fields: view.fields(pendingTimes: .estimate(.distantPast)))
    }

    /// The bytes that attachments of these names take, as they will be, with who attached them and when.
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
