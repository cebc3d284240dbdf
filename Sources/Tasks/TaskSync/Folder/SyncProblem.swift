/// A problem that needs a person.
package struct SyncProblem: Sendable, Hashable {
    /// A short name for scripts.
    package var code: String
    /// The path of the file relative to the tasks directory, or the task's title.
    package var subject: String?
    package var message: String
    package var hint: String?

    package init(code: String, subject: String?, message: String, hint: String? = nil) {
        self.code = code
        self.subject = subject
        self.message = message
        self.hint = hint
    }
}
