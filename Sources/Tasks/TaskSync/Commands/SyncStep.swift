package import DocumentModel
package import TaskModel

/// A step that a sync would take, or something that it would leave alone.
package struct SyncStep: Sendable, Hashable {
    package enum Action: String, Sendable {
        /// A change of a task or list is sent to the server.
        case send
        /// An attachment is uploaded.
        case upload
        /// A task is moved to the trash, or an attachment is detached from its task, on every
        /// machine.
        case delete
        /// A delete is held for review.
        case hold
        /// A file is written or renamed here.
        case write
        /// An attachment is downloaded.
        case download
        /// A file is moved to the trash here, because its task was deleted elsewhere.
        case remove
        /// A file stays as it is and is not synced.
        case leave
    }

    package let action: Action
    /// A path relative to the tasks directory, or a title.
    package let subject: String
    /// The task; nil if the file does not belong to one yet.
    package let task: TaskID?
    /// The fields of the task that change.
    package var fields: [FieldPath] = []
    /// The reason in a few words.
    package let reason: String?
    /// The size of an attachment in bytes.
    package var size: Int64?

    init(
        _ action: Action, _ subject: String, task: TaskID? = nil, fields: [FieldPath] = [], _ reason: String? = nil,
        size: Int64? = nil
    ) {
        self.action = action
        self.subject = subject
        self.task = task
        self.fields = fields
        self.reason = reason
        self.size = size
    }
}
