/// The facts on which a plan depends, besides the trees.
package struct Conditions: Sendable {
    /// Whether the user has paused sync.
    package var isPaused = false
    /// Whether the tasks directory is missing or is not the known one.
    package var isRootHeld = false
    /// Whether the server is another one, or was put back to an earlier state.
    package var isServerHeld = false
    /// The ledger of changes that are held for review.
    package var held: [NodeID: HeldChange] = [:]
    /// The user's decisions about them.
    package var decisions: [NodeID: Decision] = [:]
    package var deletes = RecentChanges()
    package var reverts = RecentChanges()
    /// The writes that the server refused.
    package var rejections: [NodeID: Rejection] = [:]
    package var transfers: [NodeID: Transfer] = [:]
    /// Attachments that are not to be downloaded to this machine.
    package var unwanted: Set<NodeID> = []
    package var retention = Retention(days: 0)
    /// The present moment; `nil` if it is not known by both clocks.
    package var now: Retention.Moment?

    package init() {}
}

/// A user's decision about a held change.
package enum Decision: String, Hashable, Sendable {
    /// The change is sent.
    case approve
    /// The change is undone.
    case restore
}

/// The changes of one kind that come before and after those of a plan.
package struct RecentChanges: Hashable, Sendable {
    /// The number of changes that were let through shortly before.
    package var count = 0
    /// The number of changes that are reported, and will be planned soon. The first of many changes
    /// are held with the others.
    package var following = 0
    /// Whether changes of this kind were held shortly before, so that further ones are, too.
    package var isHolding = false

    package init(count: Int = 0, following: Int = 0, isHolding: Bool = false) {
        self.count = count
        self.following = following
        self.isHolding = isHolding
    }
}

/// A write that the server refused for good.
package struct Rejection: Hashable, Sendable {
    /// The state that was refused; `nil` if it was a delete. Another state is tried again.
    package var state: NodeState?
    /// The fields of the state that were refused; empty if it was refused as a whole. As long as the
    /// file still states one of these values, that value stays on this machine, and the rest is sent.
    package var fields: Set<String>
    package var message: String

    package init(state: NodeState?, fields: Set<String> = [], message: String) {
        self.state = state
        self.fields = fields
        self.message = message
    }

    /// Returns the refused fields that a state still has.
    func fields(in other: NodeState?) -> Set<String> {
        guard let other, let state else { return [] }
        return fields.filter { other.contents.fields[$0] == state.contents.fields[$0] }
    }
}

/// A transfer of an attachment's bytes.
package enum Transfer: Hashable, Sendable {
    case running(ContentDigest)
    /// The bytes are in the store, or in the directory of incoming files.
    case finished(ContentDigest)
    /// The user paused it.
    case paused(ContentDigest)
    case failed(ContentDigest, message: String)

    package var digest: ContentDigest {
        switch self {
        case .running(let digest), .finished(let digest), .paused(let digest), .failed(let digest, _): digest
        }
    }
}
