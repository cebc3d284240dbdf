package import DocumentModel

/// A living document as this replica sees it: the newest version known of the server's, with the
/// unsent writes of this replica applied.
package struct RemoteNode: Hashable, Sendable {
    package var state: NodeState
    /// The version that a write is based on.
    package var version: Timestamp
    /// The time at which the server first had the document; `nil` until then.
    package var created: Timestamp?
    package var access: Access

    package init(
        state: NodeState, version: Timestamp, created: Timestamp?, access: Access = .full
    ) {
        self.state = state
        self.version = version
        self.created = created
        self.access = access
    }
}

/// The right of this user to a document.
package enum Access: String, Hashable, Sendable {
    /// It may be read, written, and deleted.
    case full
    /// It may be read and written. Only its owner may delete it.
    case member
    /// It may only be read.
    case readOnly
    /// It is offered to this user, who has not accepted it.
    case invited
}

/// The knowledge of a node's document.
package enum RemoteState: Hashable, Sendable {
    case living(RemoteNode)
    /// The document is in the trash, with its last state.
    case trashed(RemoteNode, since: Retention.Moment)
    case absent
    /// The server has not reported the document, and has not reported all that there are.
    case unknown

    package var node: RemoteNode? {
        if case .living(let node) = self { node } else { nil }
    }

    /// The document, also if it is in the trash.
    package var document: RemoteNode? {
        switch self {
        case .living(let node), .trashed(let node, _): node
        case .absent, .unknown: nil
        }
    }
}

/// The states that the documents give.
package struct RemoteTree: Sendable {
    private var nodes: [NodeID: RemoteState] = [:]
    /// The living nodes that ask for each location.
    private(set) var requesters: [Location: Set<NodeID>] = [:]
    /// The living nodes of each list and task.
    private(set) var children: [NodeID: Set<NodeID>] = [:]
    /// Whether the server has reported every document. Until then a missing document is unknown and
    /// not absent.
    package var isComplete = true
    /// Lists without a document that are above others: `Work` of a list whose name is `Work/Plans`.
    package var implied: [NodeID: NodeState] = [:]

    package init() {}

    package var ids: some Collection<NodeID> { nodes.keys }

    /// The living nodes of a list or task.
    package func nodes(of parent: NodeID) -> Set<NodeID> { children[parent] ?? [] }

    /// The state of a node's document.
    package subscript(id: NodeID) -> RemoteState {
        get { nodes[id] ?? (isComplete ? .absent : .unknown) }
        set {
            if let old = nodes[id]?.node?.state {
                let location = NodeName.plainLocation(of: id.kind, old)
                requesters[location]?.remove(id)
                if requesters[location]?.isEmpty == true { requesters[location] = nil }
                if let parent = old.parent { children[parent]?.remove(id) }
            }
            nodes[id] = newValue == .absent ? nil : newValue
            guard let state = newValue.node?.state else { return }
            requesters[NodeName.plainLocation(of: id.kind, state), default: []].insert(id)
            if let parent = state.parent { children[parent, default: []].insert(id) }
        }
    }
}
