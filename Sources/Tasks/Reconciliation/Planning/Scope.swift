/// The nodes that a plan has to look at.
enum Scope {
    /// Returns the dirty nodes and their neighbors: those on whose decisions theirs depend, or whose
    /// decisions depend on theirs.
    static func nodes(dirty: Set<NodeID>, _ trees: Trees) -> Set<NodeID> {
        var scope = dirty
        var queue = Array(dirty)
        while let id = queue.popLast() {
            for neighbor in neighbors(of: id, trees) where scope.insert(neighbor).inserted {
                queue.append(neighbor)
            }
        }
        return scope
    }

    private static func neighbors(of id: NodeID, _ trees: Trees) -> [NodeID] {
        let synced = trees.synced[id]
        let file = trees.local[id].file
        let remote = trees.remote[id].document?.state
        let local = file.map { Comparison.state(of: $0, id.kind, synced: synced) }
        let states = [remote, local, synced?.state, trees.remote.implied[id]].compactMap { $0 }
        var found = states.compactMap(\.parent)
        if let directory = file?.location.directory { found.append(directory) }
        if needsChildren(id, file, remote, trees) {
            for children in [trees.remote.children[id], trees.local.children[id], trees.synced.children[id]] {
                found += children ?? []
            }
        }
        // A merge can take the place from one side and the name from the other.
        let parents = Set(states.map(\.parent))
        for name in Set(states.map(\.name)) {
            for parent in parents { addNamesakes(of: id, parent, name, trees, to: &found) }
        }
        if let file, let occupant = trees.local.occupants[file.location], occupant != id { found.append(occupant) }
        return found
    }

    /// Whether the decision about a node depends on those in it. Of a list that is where it should
    /// be, which may have many thousand tasks, it does not.
    private static func needsChildren(_ id: NodeID, _ file: LocalFile?, _ remote: NodeState?, _ trees: Trees) -> Bool {
        switch id.kind {
        case .attachment: false
        case .task: true
        case .list: file == nil || trees.remote[id].node == nil
        }
    }

    /// Adds the nodes that ask for the same name in the same place, and those whose names with a
    /// number this one is.
    private static func addNamesakes(
        of id: NodeID, _ parent: NodeID?, _ wanted: FileName, _ trees: Trees, to found: inout [NodeID]
    ) {
        let location = Location(parent, NodeName.fileName(of: id.kind, for: wanted))
        let requesters = trees.remote.requesters[location] ?? []
        found += requesters
        if let occupant = trees.local.occupants[location] { found.append(occupant) }
        if let name = NodeName.unnumbered(wanted) {
            let plain = Location(parent, NodeName.fileName(of: id.kind, for: name))
            found += trees.remote.requesters[plain] ?? []
        }
        guard requesters.count + (requesters.contains(id) ? 0 : 1) > 1 else { return }
        for number in 2...(requesters.count + 2) {
            let numbered = Location(parent, NodeName.fileName(of: id.kind, for: wanted, number: number))
            found += trees.remote.requesters[numbered] ?? []
            if let occupant = trees.local.occupants[numbered] { found.append(occupant) }
        }
    }
}
