import DocumentModel
import Merge

/// One node on its way through the stages of the planner.
struct NodePlan {
    let id: NodeID
    /// The file; `nil` if there is none or nothing is known of it.
    let file: LocalFile?
    /// The state that the file asks for.
    let local: NodeState?
    let remote: RemoteState
    let synced: SyncedNode?
    /// The state of a list of which nothing is known but that it is above another one.
    let implied: NodeState?
    let localChange: Change
    let remoteChange: Change
    var resolution: Resolution
    /// The reason for which the node is not at rest; `nil` if it is, or if operations bring it to rest.
    var reason: Reason?
    /// The state that both sides are to have; `nil` if they are to have none.
    var target: Draft?
    var displaced: [Displaced] = []
    /// The fields of which the server refused the file's values.
    var withheld: Set<String> = []
    /// The location that the file is to have; `nil` if there is to be none.
    var location: Location?
    /// Records in the ledger of held changes and transfers, which come before the effects.
    var records: [Operation] = []

    init(_ id: NodeID, _ trees: Trees, _ conditions: Conditions) {
        self.id = id
        let path = trees.local[id]
        remote = trees.remote[id]
        synced = trees.synced[id]
        implied = trees.remote.implied[id]
        file = path.file
        local = path.file.map { [synced] in Comparison.state(of: $0, id.kind, synced: synced) }
        if case .unreachable = path {
            localChange = .unknown
        } else {
            localChange = Comparison.change(of: local, since: synced?.state)
        }
        remoteChange =
            remote == .unknown ? .unknown : Comparison.change(of: remote.node?.state, since: synced?.state)
        resolution = ReconciliationTable.resolution(local: localChange, remote: remoteChange)
    }

    /// Whether neither side has changed.
    var isCalm: Bool { localChange == .unchanged && remoteChange == .unchanged }

    /// Whether the node has, or will have, nothing on either side.
    var isGoing: Bool {
        switch resolution {
        case .trashFile, .trashDocument, .forget: reason == nil
        case .none: target == nil
        default: false
        }
    }

    /// Whether the document is to change in a way that depends on this user's rights.
    var writesDocument: Bool {
        switch resolution {
        case .importFile, .merge, .restoreDocument, .trashDocument: true
        case .none, .exportFile, .trashFile, .restoreFile, .forget, .wait: false
        }
    }

    /// The state that the document is to have: the target with the document's values where the
    /// server refused the file's.
    var documentTarget: Draft? {
        target.map { withRefused($0, from: (remote.document?.state ?? synced?.state)?.contents) }
    }

    /// Returns the state that counts as agreed on when both sides have a state. A refused value leaves
    /// the base as it is: what others make of the field is news until the file has been mended.
    func agreement(on draft: Draft) -> Draft { withRefused(draft, from: synced?.state.contents) }

    private func withRefused(_ draft: Draft, from contents: Contents?) -> Draft {
        guard !withheld.isEmpty else { return draft }
        var (draft, fields) = (draft, draft.contents.fields)
        for field in withheld { fields[field] = contents?.fields[field] }
        if let contents, contents.fields == fields {
            draft.contents = .known(contents)
        } else {
            draft.contents = .merged(fields)
        }
        return draft
    }

    /// Whether the file stays where it is because the directory to which it is to move cannot be
    /// reached. What it says is exchanged nevertheless.
    private(set) var awaitsDirectory = false

    mutating func waitForDirectory(_ reason: Reason) {
        guard file != nil else { return wait(for: reason) }
        awaitsDirectory = true
        self.reason = reason
    }

    mutating func wait(for reason: Reason) {
        resolution = .wait
        self.reason = reason
    }

    /// Sets the state that both sides are to have, by the resolution.
    mutating func decideTarget() {
        switch resolution {
        case .none, .exportFile, .restoreFile: target = remote.node.map { Draft($0.state) }
        case .importFile, .merge, .restoreDocument: mergeStates()
        case .trashFile, .trashDocument, .forget: target = nil
        case .wait: target = (remote.node?.state ?? local ?? synced?.state).map { Draft($0) }
        }
    }

    private mutating func mergeStates() {
        guard let mine = local ?? synced?.state ?? implied else { return }
        guard let theirs = remote.document?.state else {
            target = Draft(mine)
            return
        }
        var merge = StateMerge()
        target = merge.merge(id.kind, base: synced?.state, mine: mine, theirs: theirs)
        displaced = merge.displaced.filter { value in
            // The document keeps its own value of a refused field.
            guard case .field(let field) = value, let key = field.field.segments.first else { return true }
            return !withheld.contains(key)
        }
    }
}

/// The nodes of one plan.
struct PlanDraft {
    let trees: Trees
    let conditions: Conditions
    /// The nodes in the order of their ids: lists, tasks, attachments.
    var nodes: [NodePlan]
    private let indexes: [NodeID: Int]

    init(_ ids: Set<NodeID>, _ trees: Trees, _ conditions: Conditions) {
        self.trees = trees
        self.conditions = conditions
        nodes = ids.sorted().map { NodePlan($0, trees, conditions) }
        indexes = Dictionary(uniqueKeysWithValues: nodes.indices.map { [nodes] in (nodes[$0].id, $0) })
    }

    /// The position of a node; `nil` for one that the plan does not concern.
    func index(of id: NodeID) -> Int? { indexes[id] }

    subscript(id: NodeID) -> NodePlan? { indexes[id].map { nodes[$0] } }

    func indexes(of kind: NodeKind) -> [Int] { nodes.indices.filter { nodes[$0].id.kind == kind } }
}
