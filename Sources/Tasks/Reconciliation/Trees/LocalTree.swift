/// A file or directory as it was last seen.
package struct LocalFile: Hashable, Sendable {
    package var location: Location
    package var stamp: Stamp
    /// The contents. A directory has none: those of a list are in its document only, and are ignored
    /// here.
    package var contents: Contents
    /// Whether the contents are those of an earlier version of the node, as after a backup was copied
    /// over the directory.
    package var isFormerVersion: Bool

    package init(location: Location, stamp: Stamp, contents: Contents, isFormerVersion: Bool = false) {
        self.location = location
        self.stamp = stamp
        self.contents = contents
        self.isFormerVersion = isFormerVersion
    }
}

/// The knowledge of a node's file.
///
/// The third case is why this is no optional: what could not be looked at is not absent, and nothing
/// is concluded from it.
package enum PathState: Hashable, Sendable {
    case present(LocalFile)
    /// A look at the place found nothing, and every directory above it could be read.
    case absent
    case unreachable(Unreachable)

    package var file: LocalFile? {
        if case .present(let file) = self { file } else { nil }
    }
}

/// Reasons for which nothing is known of a file.
package enum Unreachable: String, Hashable, Sendable, CaseIterable {
    /// A directory above it, or the file, cannot be read.
    case unreadable
    /// It changed while it was read, or is empty as an editor leaves it before it writes.
    case changing
    /// It is not what it should be: a link, a pipe, or a directory instead of a file.
    case wrongKind
    /// Its front matter cannot be parsed, or it is not text, or too large.
    case malformed
}

/// The files that the disk was last seen to hold.
package struct LocalTree: Sendable {
    private var nodes: [NodeID: PathState] = [:]
    /// The node whose file is at each location.
    private(set) var occupants: [Location: NodeID] = [:]
    /// The nodes whose files are in the directory of each list or task.
    private(set) var children: [NodeID: Set<NodeID>] = [:]
    /// Files and directories that belong to no node, and whose names are therefore taken.
    package var foreign: Set<Location> = []

    package init() {}

    package var ids: some Collection<NodeID> { nodes.keys }

    /// The state of a node's file; `.absent` for a node that has none.
    package subscript(id: NodeID) -> PathState {
        get { nodes[id] ?? .absent }
        set {
            if let old = nodes[id]?.file {
                if occupants[old.location] == id { occupants[old.location] = nil }
                if let parent = old.location.directory { children[parent]?.remove(id) }
            }
            nodes[id] = newValue == .absent ? nil : newValue
            guard let file = newValue.file else { return }
            occupants[file.location] = id
            if let parent = file.location.directory { children[parent, default: []].insert(id) }
        }
    }
}
