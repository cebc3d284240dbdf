package import JSON

/// The result of adding one of several tasks.
package enum AddResult: JSONCodable, Hashable {
    /// The task was added; in a trial, it could be added.
    case added(TaskSummary)
    /// The task was not added. If one with the same `importKey` was added before, the code is
    /// `already-there` and the candidate is that task.
    case refused(ControlError)

    package init(json: JSON) throws(ControlError) {
        if let error = ControlError(json: json) {
            self = .refused(error)
        } else if let task = json["task"] {
            self = .added(try TaskSummary(json: task))
        } else {
            throw .malformed("'task' or 'error' was expected")
        }
    }

    package var json: JSON {
        switch self {
        case .added(let task): .members(("task", task.json))
        case .refused(let error): error.json
        }
    }

    /// Returns the task.
    ///
    /// - Throws: The error of one that was refused.
    package func get() throws(ControlError) -> TaskSummary {
        switch self {
        case .added(let task): return task
        case .refused(let error): throw error
        }
    }
}
