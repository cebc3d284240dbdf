package import DocumentClient
package import DocumentModel
package import Reconciliation
package import TaskFolder
package import TaskModel

/// Reads the three trees of a replica: those of its documents, its directory and its tables.
package struct TreeReader: Sendable {
    private let folder: any TaskFolder
    private let userID: UserID

    package init(_ folder: any TaskFolder, userID: UserID) {
        self.folder = folder
        self.userID = userID
    }

    /// The trees at one moment.
    package struct Reading: Sendable {
        package var trees = Trees()
        package var conditions = Conditions()
        /// The paths of files and directories. New ones have ids that begin with `new ` or `directory `.
        package var paths: [NodeID: TaskPath] = [:]
        /// The nodes whose changes the server has refused.
        package var refused: Set<NodeID> = []
        /// Whether an operation was begun and the tables do not record its end.
        package var isInterrupted = false
    }

    /// Returns the contents of the file that is written for the fields of a merge.
    package static func contents(ofFileWith fields: [String: Value], name: FileName) -> Contents {
        TaskState.contents(ofFileWith: fields, name: name)
    }

    /// Returns the trees of a replica.
    ///
    /// - Parameter machineTime: The machine's clock in seconds since 1970.
    package func read(_ client: DocumentDatabase, machineTime: Int64) async throws -> Reading {
        let (stored, serverTime) = try await client.reading { (try StoredState($0), try $0.remoteTime) }
        let isCurrent = await client.currentStatus.isCurrent
        let documents = RemoteTreeReader(stored, userID: userID)
        let now = Retention.Moment(
            server: serverTime ?? Timestamp(microseconds: 0), machine: machineTime)
        let synced = SyncedTreeReader(stored)
        var reading = Reading()
        reading.trees.remote = documents.tree(isComplete: stored.isSynced, now: now)
        reading.trees.synced = synced.tree(reading.trees.remote)
        do throws(FolderError) {
            let look = try LocalTreeReader(
                folder: folder, stored: stored, synced: synced, remote: reading.trees.remote,
                userID: userID, isServerCurrent: isCurrent
            ).look()
            reading.trees.local = look.tree
            reading.paths = look.paths
            reading.conditions.isRootHeld = !look.isSameRoot
        } catch {
            reading.conditions.isRootHeld = true
        }
        for task in stored.held { reading.conditions.held[.task(task)] = .delete }
        for task in stored.reverted { reading.conditions.held[.task(task)] = .revert }
        for view in stored.listDocuments where view.hasParkedWrites {
            reading.refused.insert(.list(view.name.list))
        }
        for view in stored.taskDocuments where view.hasParkedWrites {
            reading.refused.insert(.task(view.name.task))
        }
        reading.isInterrupted = stored.hasIntents
        return reading
    }
}
