/// Compares one side with the synced tree.
enum Comparison {
    /// Returns the change of a side that could be looked at.
    static func change(of state: NodeState?, since synced: NodeState?) -> Change {
        switch (state, synced) {
        case (nil, nil): .unchanged
        case (nil, _?): .absent
        case (_?, nil): .changed
        case (let state?, let synced?): state == synced ? .unchanged : .changed
        }
    }

    /// Returns the state that a file asks for.
    ///
    /// A file that is where it was asks for what was agreed on: one that is called `Name (2).md` only
    /// because another node has the name still asks for `Name`. Once its user has renamed or moved
    /// it, it asks for its own name or directory.
    static func state(of file: LocalFile, _ kind: NodeKind, synced: SyncedNode?) -> NodeState {
        var state = NodeState(
            parent: file.location.directory, name: NodeName.wanted(of: kind, by: file.location.fileName),
            contents: file.contents)
        if kind == .list { state.contents = synced?.state.contents ?? Contents(digest: ContentDigest(0, 0, 0, 0)) }
        guard let synced else { return state }
        if file.location.directory == synced.location.directory { state.parent = synced.state.parent }
        if file.location.fileName == synced.location.fileName { state.name = synced.state.name }
        return state
    }
}
