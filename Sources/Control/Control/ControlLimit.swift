/// The limits of a call.
package enum ControlLimit {
    /// The maximum size of a request's body in bytes.
    package static let bodyBytes = 4 << 20
    /// The maximum number of tasks that one call adds. Undoing the call needs a step for each task,
    /// and the daemon keeps 500 steps.
    package static let newTasks = 500
}
