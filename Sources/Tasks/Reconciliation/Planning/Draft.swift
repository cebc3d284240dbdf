package import DocumentModel
package import Merge

/// Contents in a plan.
package enum PlannedContents: Hashable, Sendable {
    /// Contents that a tree holds.
    case known(Contents)
    /// The fields that a merge made. The executor writes them as a file, whose digest is observed.
    case merged([String: Value])

    package var fields: [String: Value] {
        switch self {
        case .known(let contents): contents.fields
        case .merged(let fields): fields
        }
    }

    /// Whether a tree already holds these contents.
    func isStated(by contents: Contents) -> Bool {
        switch self {
        case .known(let known): known == contents
        case .merged(let fields): fields == contents.fields
        }
    }
}

/// The state that both sides of a node are to have.
package struct Draft: Hashable, Sendable {
    package var parent: NodeID?
    package var name: FileName
    package var contents: PlannedContents

    package init(parent: NodeID?, name: FileName, contents: PlannedContents) {
        self.parent = parent
        self.name = name
        self.contents = contents
    }

    init(_ state: NodeState) {
        self.init(parent: state.parent, name: state.name, contents: .known(state.contents))
    }

    /// Whether a side already states this.
    func isStated(by state: NodeState) -> Bool {
        parent == state.parent && name == state.name && contents.isStated(by: state.contents)
    }
}

/// The row of the synced tree that the executor writes in the same transaction as an effect.
package struct SyncedRow: Hashable, Sendable {
    package var state: Draft
    package var location: Location

    package init(state: Draft, location: Location) {
        self.state = state
        self.location = location
    }
}

/// Something that a merge put away. It joins the node's history in the same commit.
package enum Displaced: Hashable, Sendable {
    case field(DisplacedValue)
    case name(FileName)
    case parent(NodeID?)
    /// A version of an attachment.
    case version(Contents)
}
