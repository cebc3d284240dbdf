package import TaskModel

/// The kinds of nodes. Each has a document, or a part of one, and a file or directory.
package enum NodeKind: String, Hashable, Sendable, CaseIterable {
    /// A directory of tasks; a document of `lists`.
    case list
    /// A file `X.md`; a document of `tasks`.
    case task
    /// A file in `X.files`; an element of a task document's `attachments`.
    case attachment
}

/// The identity of a node. It stays the same when the node is renamed, moved, or edited.
package enum NodeID: Hashable, Sendable {
    case list(ListID)
    case task(TaskID)
    case attachment(AttachmentID, of: TaskID)

    package var kind: NodeKind {
        switch self {
        case .list: .list
        case .task: .task
        case .attachment: .attachment
        }
    }
}

extension NodeID: Comparable {
    /// Orders lists before tasks before attachments, and nodes of one kind by their ids.
    package static func < (left: NodeID, right: NodeID) -> Bool {
        switch (left, right) {
        case (.list(let a), .list(let b)): a < b
        case (.task(let a), .task(let b)): a < b
        case (.attachment(let a, let task), .attachment(let b, let other)): task == other ? a < b : task < other
        default: left.rank < right.rank
        }
    }

    private var rank: Int {
        switch self {
        case .list: 0
        case .task: 1
        case .attachment: 2
        }
    }
}

extension NodeID: CustomStringConvertible {
    package var description: String {
        switch self {
        case .list(let id): "list \(id)"
        case .task(let id): "task \(id)"
        case .attachment(let id, let task): "attachment \(id) of \(task)"
        }
    }
}
