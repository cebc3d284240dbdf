/// The value of a task file's extended attribute `user.ferry.id`: the id of the task, or that id, a
/// slash, and the account to which the task belongs. An id contains no slash.
package struct FileMark: Hashable, Sendable {
    /// The longest value in bytes that is read or written.
    package static let limit = 256

    /// The id of the task.
    package var task: String
    /// The account that owns the task; nil if the mark does not name it, as earlier versions wrote
    /// it, and as in the lists of other users.
    package var account: String?

    package init(task: String, account: String? = nil) {
        self.task = task
        self.account = account
    }

    /// Parses the value of the attribute; nil if it is too long or not UTF-8.
    package init?(parsing value: [UInt8]) {
        guard value.count <= Self.limit, let text = String(validating: value, as: UTF8.self) else { return nil }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        task = parts.first.map(String.init) ?? ""
        account = parts.count > 1 ? String(parts[1]) : nil
    }

    /// The value of the attribute, without the account if that makes it too long.
    package var bytes: [UInt8] {
        guard let account else { return Array(task.utf8) }
        let value = Array("\(task)/\(account)".utf8)
        return value.count <= Self.limit ? value : Array(task.utf8)
    }
}
