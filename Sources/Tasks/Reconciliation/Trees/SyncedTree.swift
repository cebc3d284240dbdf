/// The last state of a node on which its file and its document agreed: the base of a merge.
package struct SyncedNode: Hashable, Sendable {
    package var state: NodeState
    /// The location of the file then. It need not be the one that the state asks for.
    package var location: Location

    package init(state: NodeState, location: Location) {
        self.state = state
        self.location = location
    }
}

/// The last state on which both sides agreed. It is written only together with the effect that
/// made it true.
package struct SyncedTree: Sendable {
    private var nodes: [NodeID: SyncedNode] = [:]
    /// The number of tasks, by which mass deletes are recognized.
    package private(set) var taskCount = 0
    /// The nodes of each list and task.
    private(set) var children: [NodeID: Set<NodeID>] = [:]

    /// Creates an empty tree.
    ///
    /// - Parameter otherTaskCount: the number of tasks that exist and are not to be put into the tree.
    package init(otherTaskCount: Int = 0) { taskCount = otherTaskCount }

    package var ids: some Collection<NodeID> { nodes.keys }

    package subscript(id: NodeID) -> SyncedNode? {
        get { nodes[id] }
        set {
            if let parent = nodes[id]?.state.parent { children[parent]?.remove(id) }
            if let parent = newValue?.state.parent { children[parent, default: []].insert(id) }
            if id.kind == .task { taskCount += (newValue == nil ? 0 : 1) - (nodes[id] == nil ? 0 : 1) }
            nodes[id] = newValue
        }
    }
}

/// The three trees: what the documents say, what the disk holds, and what both last agreed on.
package struct Trees: Sendable {
    package var remote = RemoteTree()
    package var local = LocalTree()
    package var synced = SyncedTree()

    package init() {}

    /// The state that a node's file asks for; `nil` if there is none or nothing is known of it.
    package func localState(of id: NodeID) -> NodeState? {
        local[id].file.map { Comparison.state(of: $0, id.kind, synced: synced[id]) }
    }

    /// Every node that a tree knows.
    package var ids: Set<NodeID> { Set(remote.ids).union(remote.implied.keys).union(local.ids).union(synced.ids) }
}
