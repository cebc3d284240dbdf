package import DocumentModel

/// One thing that a sync would do, or that it would leave alone.
package struct SyncStep: Sendable, Hashable {
    package enum Action: String, Sendable {
        /// A change of a task or list goes to the remote.
        case send
        /// An attachment goes to the remote.
        case upload
        /// A task goes to the trash, or an attachment off its task, on every machine.
        case delete
        /// A delete waits for approval.
        case hold
        /// A file is written or renamed here.
        case write
        /// An attachment comes here.
        case download
        /// A file goes to the trash here, because its task was deleted elsewhere.
        case remove
        /// Stays as it is, and is not synced.
        case leave
    }

    package let action: Action
    /// A path relative to the tasks directory, or a title.
    package let subject: String
    /// nil: it belongs to no task yet.
    package let task: String?
    /// The fields of the task that change.
    package var fields: [FieldPath] = []
    /// Why, or what about it, in a few words.
    package let reason: String?
    /// Of an attachment.
    package var size: Int64?

    init(
        _ action: Action, _ subject: String, task: String? = nil, fields: [FieldPath] = [], _ reason: String? = nil,
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
