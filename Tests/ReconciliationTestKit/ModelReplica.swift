import DocumentModel
import Merge
package import Reconciliation

/// The documents of a server, which gives each commit its place in the order.
package struct ModelServer: Sendable {
    package private(set) var documents: [NodeID: RemoteState] = [:]
    /// The user who owns each list and each task outside of lists; the first user if it is not noted.
    private var owners: [NodeID: Int] = [:]
    /// The rights of other users to a list.
    private var members: [NodeID: [Int: Access]] = [:]
    /// Whether it refuses priorities that are multiples of five.
    package var refusesPriorities = false
    private var time: Int64 = 1_000
    /// The values that merges put away.
    package private(set) var displaced: Set<String> = []

    package init(_ remote: RemoteTree) {
        for id in remote.ids where remote[id] != .unknown {
            documents[id] = remote[id]
            // What comes is later than all that there is.
            time = max(time, remote[id].document?.version.microseconds ?? 0)
        }
    }

    package subscript(id: NodeID) -> RemoteState { documents[id] ?? .absent }

    // MARK: Users

    package func isOwner(_ user: Int, of list: NodeID) -> Bool { owners[list, default: 0] == user }

    package mutating func share(_ list: NodeID, with user: Int, _ access: Access) {
        members[list, default: [:]][user] = access
    }

    /// Returns a document as a user sees it: absent if it is not theirs and not shared with them.
    package func document(_ id: NodeID, for user: Int) -> RemoteState {
        guard let access = access(of: id, user) else { return .absent }
        switch self[id] {
        case .living(var node):
            node.access = access
            return .living(node)
        default: return self[id]
        }
    }

    private func access(of id: NodeID, _ user: Int) -> Access? {
        switch id {
        case .list: return isOwner(user, of: id) ? .full : members[id]?[user]
        case .task:
            guard let list = self[id].document?.state.parent, self[list].node != nil else {
                return isOwner(user, of: id) ? .full : nil
            }
            switch access(of: list, user) {
            case .full, .member: return .full
            case .readOnly: return .readOnly
            case .invited, nil: return nil
            }
        case .attachment(_, let task): return access(of: .task(task), user)
        }
    }

    /// A write that the server refuses for good.
    struct Refusal {
        /// The fields that it refuses; empty: the whole write.
        var fields: Set<String>
    }

    func refusal(of operation: Operation, by user: Int) -> Refusal? {
        if self[operation.node] != .absent, document(operation.node, for: user) == .absent {
            return Refusal(fields: [])
        }
        switch operation.action {
        case .createDocument(let draft), .updateDocument(let draft, _), .restoreDocument(let draft, _):
            guard refusesPriorities, let priority = draft.contents.fields["priority"]?.integerValue else { return nil }
            return priority % 5 == 0 ? Refusal(fields: ["priority"]) : nil
        default: return nil
        }
    }

    private mutating func noteOwner(of id: NodeID, _ draft: Draft, before: NodeState?, _ user: Int) {
        guard id.kind != .attachment, before == nil || before?.parent != draft.parent else { return }
        owners[id] = draft.parent.map { owners[$0, default: 0] } ?? user
    }

    /// Performs an operation on a document. Returns false, and changes nothing, if its expectation
    /// does not hold.
    mutating func perform(_ operation: Operation, by user: Int = 0) -> Bool {
        let now = self[operation.node]
        switch operation.expectation {
        case .version(let version): guard now.document?.version == version else { return false }
        case .noDocument: guard now == .absent else { return false }
        default: return false
        }
        time += 1
        let version = Timestamp(microseconds: time)
        switch operation.action {
        case .createDocument(let draft):
            noteOwner(of: operation.node, draft, before: nil, user)
            documents[operation.node] = .living(RemoteNode(state: draft.state, version: version, created: version))
        case .updateDocument(let draft, let displaced):
            guard case .living(let old) = now else { return false }
            noteOwner(of: operation.node, draft, before: old.state, user)
            keep(displaced)
            documents[operation.node] = .living(RemoteNode(state: draft.state, version: version, created: old.created))
        case .restoreDocument(let draft, let displaced):
            guard case .trashed(let old, _) = now else { return false }
            noteOwner(of: operation.node, draft, before: old.state, user)
            keep(displaced)
            documents[operation.node] = .living(RemoteNode(state: draft.state, version: version, created: old.created))
        case .trashDocument:
            guard case .living(var old) = now else { return false }
            old.version = version
            documents[operation.node] = .trashed(old, since: .init(server: version, machine: 0))
        case .purgeDocument: documents[operation.node] = .absent
        case .leaveList: members[operation.node]?[user] = nil
        default: return false
        }
        return true
    }

    private mutating func keep(_ values: [Displaced]) {
        for value in values {
            switch value {
            case .field(let field):
                guard let value = field.value else { continue }
                displaced.formUnion(Contents.savedValues(of: field.field.segments[0], value))
            case .version(let contents): displaced.formUnion(contents.savedValues)
            case .name, .parent: break
            }
        }
    }

    /// Whether a value is in a document, the trash, or the history.
    package func holds(_ value: String) -> Bool {
        displaced.contains(value)
            || documents.values.contains { $0.document?.state.contents.savedValues.contains(value) == true }
    }
}

/// One machine: its trees, of which the local one stands for the disk.
package struct ModelReplica: Sendable {
    package var trees: Trees
    package var conditions = Conditions()
    package var user = 0
    /// The files in directories that cannot be read.
    package private(set) var hidden: [NodeID: LocalFile] = [:]
    /// The files of a tasks directory that is not there.
    private var away: LocalTree?
    /// The values in the local trash.
    package private(set) var trash: Set<String> = []
    private var inode = 1_000

    package init(_ trees: Trees) { self.trees = trees }

    package mutating func newStamp() -> Stamp {
        inode += 1
        return TreeCase.stamp(inode)
    }

    /// Takes over what the server has, of all documents or of one.
    package mutating func listen(_ server: ModelServer, to id: NodeID? = nil) {
        if let id {
            trees.remote[id] = server.document(id, for: user)
        } else {
            for id in Set(trees.remote.ids).union(server.documents.keys) {
                trees.remote[id] = server.document(id, for: user)
            }
        }
    }

    /// Makes a directory unreadable, with all that is in it.
    package mutating func forbid(_ directory: NodeID) {
        guard let file = trees.local[directory].file else { return }
        for child in trees.local.ids.filter({ trees.local[$0].file?.location.directory == directory }) { forbid(child) }
        hidden[directory] = file
        trees.local[directory] = .unreachable(.unreadable)
        trees.local.foreign.insert(file.location)
    }

    /// Makes all directories readable again.
    package mutating func permit() {
        for (id, file) in hidden {
            trees.local.foreign.remove(file.location)
            trees.local[id] = .present(file)
        }
        hidden = [:]
    }

    /// Unmounts the tasks directory, which leaves an empty one, or mounts it again.
    package mutating func setAway(_ isAway: Bool) {
        if isAway, away == nil {
            away = trees.local
            trees.local = LocalTree()
        } else if !isAway, let local = away {
            away = nil
            trees.local = local
        }
        conditions.isRootHeld = away != nil
    }

    /// Whether user and planner find the tasks directory.
    package var isMounted: Bool { away == nil }

    /// Performs operations in order, at most `limit` of them. After one that fails, the later ones of
    /// its node are left out.
    ///
    /// - Returns: the operations whose expectations did not hold.
    package mutating func perform(
        _ operations: [Operation], on server: inout ModelServer, limit: Int = .max
    ) -> [Operation] {
        var failed: [Operation] = []
        var skipped = Set<NodeID>()
        for operation in operations.prefix(limit) where !skipped.contains(operation.node) {
            if perform(operation, &server) {
                guard operation.action.changesRow else { continue }
                trees.synced[operation.node] = operation.row.map {
                    SyncedNode(state: $0.state.state, location: $0.location)
                }
            } else {
                failed.append(operation)
                skipped.insert(operation.node)
            }
        }
        return failed
    }

    private mutating func perform(_ operation: Operation, _ server: inout ModelServer) -> Bool {
        let id = operation.node
        switch operation.action {
        case .createDocument, .updateDocument, .restoreDocument, .trashDocument, .purgeDocument, .leaveList:
            if let refusal = server.refusal(of: operation, by: user) {
                conditions.rejections[id] = Rejection(
                    state: trees.localState(of: id), fields: refusal.fields, message: "refused")
                return false
            }
            guard server.perform(operation, by: user) else { return false }
            listen(server, to: id)
            return true
        case .upload(let contents), .download(let contents):
            conditions.transfers[id] = .finished(contents.digest)
            return true
        case .record: return true
        case .hold(let change):
            conditions.held[id] = change
            return true
        case .release:
            conditions.held[id] = nil
            conditions.decisions[id] = nil
            return true
        case .createFile, .moveFile, .writeFile, .trashFile: return performOnDisk(operation)
        }
    }

    private mutating func performOnDisk(_ operation: Operation) -> Bool {
        let id = operation.node
        if case .createFile(let location, let contents) = operation.action {
            guard trees.local[id] == .absent, isVacant(location), hasDirectory(location) else { return false }
            trees.local[id] = .present(
                LocalFile(location: location, stamp: newStamp(), contents: contents.contents))
            return true
        }
        guard var file = trees.local[id].file else { return false }
        switch operation.expectation {
        case .stamp(let stamp), .stampAndVacant(let stamp):
            guard file.stamp.hasContents(of: stamp) else { return false }
        default: return false
        }
        switch operation.action {
        case .moveFile(let location):
            guard isVacant(location), hasDirectory(location) else { return false }
            file.location = location
        case .writeFile(let contents):
            file.contents = contents.contents
            file.isFormerVersion = false
            file.stamp = newStamp()
        default:
            if id.kind == .list {
                let isEmpty = !trees.local.ids.contains { trees.local[$0].file?.location.directory == id }
                guard isEmpty else { return false }
            } else {
                trash.formUnion(file.contents.savedValues)
            }
            trees.local[id] = .absent
            return true
        }
        trees.local[id] = .present(file)
        return true
    }

    /// Whether nothing has a location.
    func isVacant(_ location: Location) -> Bool {
        !trees.local.foreign.contains(location)
            && !trees.local.ids.contains { trees.local[$0].file?.location == location }
    }

    private func hasDirectory(_ location: Location) -> Bool {
        guard let directory = location.directory else { return true }
        // The directory of a task is made when it is needed, also beside a file that cannot be parsed.
        if directory.kind == .task, trees.local[directory] != .absent { return true }
        return trees.local[directory].file != nil
            || trees.local.ids.contains { trees.local[$0].file?.location.directory == directory }
    }
}

extension PlannedContents {
    var contents: Contents {
        switch self {
        case .known(let contents): contents
        case .merged(let fields): SampleContents.contents(with: fields)
        }
    }
}

extension Draft {
    var state: NodeState { NodeState(parent: parent, name: name, contents: contents.contents) }
}
