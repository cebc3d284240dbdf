import DocumentClient
import DocumentModel
import Reconciliation
import TaskFolder
import TaskModel

extension Trees {
    /// Creates the trees of some tasks, without lists and attachments.
    ///
    /// A file that is gone is not merged, so the contents are digests only, and the texts of
    /// thousands of removed files are not kept in memory.
    ///
    /// - Parameters:
    ///   - files: The known state of each task's file.
    ///   - otherTaskCount: The number of further tasks that have files.
    init(
        of files: [TaskID: PathState], otherTaskCount: Int, userID: UserID, machineTime: Int64,
        _ transaction: ReplicaTransaction
    ) throws {
        self.init()
        synced = SyncedTree(otherTaskCount: otherTaskCount)
        let tables = SyncTables(transaction)
        let now = Retention.Moment(
            server: try transaction.remoteTime ?? Timestamp(microseconds: 0), machine: machineTime)
        for (task, file) in files {
            let (id, view, row) = (NodeID.task(task), try transaction.task(task), try tables.file(task))
            local[id] = file
            remote[id] = RemoteTreeReader.state(of: view, row, userID: userID, now: now, keepsFields: false)
            synced[id] = row.flatMap { SyncedNode($0, view) }
        }
    }
}

extension PathState {
    /// Creates the state of a file at the path where both sides last agreed.
    ///
    /// - Parameter row: The file's row at that time, with its present stamp and text.
    init(_ row: FileRow, _ view: DocumentSnapshot, isFormerVersion: Bool = false) {
        guard let node = SyncedNode(row, view) else {
            self = .unreachable(.malformed)
            return
        }
        self = .present(
            LocalFile(
                location: node.location, stamp: Stamp(row.stamp), contents: node.state.contents,
                isFormerVersion: isFormerVersion))
    }
}

extension SyncedNode {
    /// Creates the state on which a task's file and document agree in a row, without the fields;
    /// nil if the row's text is no task file.
    fileprivate init?(_ row: FileRow, _ view: DocumentSnapshot) {
        let isNameChosen = view.exists ? TaskLayout.fileName(of: view.fields(pendingTimes: .previous)) != nil : nil
        guard var state = SyncedTreeReader.state(of: row, isNameChosen: isNameChosen) else { return nil }
        state.contents.fields = [:]
        self.init(state: state, location: Location(state.parent, FileName(row.path.name)))
    }
}
