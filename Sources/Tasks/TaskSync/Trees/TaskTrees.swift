import DocumentClient
import DocumentModel
import Reconciliation
import TaskFolder
import TaskModel

extension Trees {
    /// Creates the trees of some tasks, without lists and attachments.
    ///
    /// Nothing is merged with a file that is gone, so the contents are digests only: the texts of
    /// thousands of removed files are not kept in memory.
    ///
    /// - Parameters:
    ///   - files: the knowledge of the file of each task.
    ///   - otherTaskCount: the number of further tasks that have files.
    init(
        of files: [String: PathState], otherTaskCount: Int, userID: String, machineTime: Int64,
        _ transaction: ReplicaTransaction
    ) throws {
        self.init()
        synced = SyncedTree(otherTaskCount: otherTaskCount)
        let tables = SyncTables(transaction)
        let now = Reconciliation.Retention.Moment(
            server: try transaction.remoteTime ?? Timestamp(microseconds: 0), machine: machineTime)
        for (task, file) in files {
            let (id, view, row) = (NodeID.task(TaskID(task)), try transaction.task(task), try tables.file(task))
            local[id] = file
            remote[id] = RemoteTreeReader.state(of: view, row, userID: userID, now: now).withoutFields
            let isNameChosen = view.exists ? TaskLayout.fileName(of: view.fields(pendingTimes: .previous)) != nil : nil
            guard let row, let state = SyncedTreeReader.state(of: row, isNameChosen: isNameChosen) else { continue }
            let location = Location(row.list.map { .list(ListID($0)) }, FileName(row.path.name))
            synced[id] = SyncedNode(state: state.withoutFields, location: location)
        }
    }
}

extension NodeState {
    fileprivate var withoutFields: NodeState {
        NodeState(parent: parent, name: name, contents: Contents(digest: contents.digest))
    }
}

extension RemoteState {
    fileprivate var withoutFields: RemoteState {
        switch self {
        case .living(var node):
            node.state = node.state.withoutFields
            return .living(node)
        case .trashed(var node, let since):
            node.state = node.state.withoutFields
            return .trashed(node, since: since)
        case .absent, .unknown: return self
        }
    }
}
