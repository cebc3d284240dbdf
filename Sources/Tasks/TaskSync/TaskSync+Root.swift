import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// Decides whether the tasks directory is the one that this replica knows.
extension TaskSync {
    /// Soon checks the directory and scans it, because something was mounted or unmounted around it.
    package func mountsChanged() { changes.askForRootCheck() }

    /// Checks whether the directory is the known one, and sets `rootHold` if it is not. The first
    /// directory becomes the known one.
    ///
    /// - Returns: Whether it is the known one.
    func checkRoot() async throws -> Bool {
        let root: RootState
        do throws(FolderError) {
            root = try folder.rootState()
        } catch {
            hold(
                "root-missing", "The tasks directory cannot be reached: \(error.message)",
                hint: "Mount or restore it; syncing goes on by itself. Nothing was deleted.")
            return false
        }
        let known = try await client.reading { transaction in
            let tables = SyncTables(transaction)
            return (
                try tables.state("root"), try tables.state("root-device").flatMap { UInt64($0) },
                try tables.state("root-inode").flatMap { UInt64($0) },
                try tables.state("root-fs").flatMap { UInt64($0) }
            )
        }
        if let id = known.0, let device = known.1, let inode = known.2, !rebinds {
            let remembered = RootIdentity(device: device, inode: inode, fileSystem: known.3 ?? 0)
            switch root.verdict(rootID: id, remembered: remembered) {
            case .known: break
            case .elsewhere:
                hold(
                    "root-replaced", "The tasks directory is another directory than before, with the same marker.",
                    hint: "If that is right: ferry rebind. Missing files come back, nothing is deleted."
                )
                return false
            case .unmarked:
                hold(
                    "root-unmarked",
                    "The tasks directory has lost its marker .ferry/root; perhaps another one is mounted there.",
                    hint: "Restore it, or: ferry rebind. Files are united, nothing is deleted.")
                return false
            case .other(let marker):
                hold(
                    "root-other", "The tasks directory belongs to another root (\(marker.rootID)).",
                    hint: "Use the right --tasks directory, or: ferry rebind.")
                return false
            }
        } else {
            guard try await claim(root) else { return false }
        }
        rootHold = nil
        return true
    }

    /// Marks the directory as the known one.
    ///
    /// - Returns: Whether it could be marked; otherwise it is tried again.
    private func claim(_ root: RootState) async throws -> Bool {
        let rootID: String
        if case .valid(let marker) = root.marker, marker.account == configuration.userID.rawValue {
            rootID = marker.rootID
        } else {
            rootID = DocumentID.make(in: environment)
        }
        let marker = RootMarker(rootID: rootID, account: configuration.userID.rawValue, remote: configuration.remote)
        do throws(FolderError) { try folder.claim(marker) } catch {
            hold(
                "root-read-only", "The tasks directory cannot be marked as Ferry's: \(error.message)",
                hint: "It is tried again by itself.")
            return false
        }
        let identity = root.identity
        try await client.transaction { [rebinds] transaction in
            let tables = SyncTables(transaction)
            try tables.setState("root", rootID)
            try tables.setState("root-device", String(identity.device))
            try tables.setState("root-inode", String(identity.inode))
            try tables.setState("root-fs", String(identity.fileSystem))
            if rebinds { try tables.setState("bound-anew", "true") }
        }
        if rebinds { isReadopted = true }
        rebinds = false
        return true
    }

    /// Returns the known files that are absent in a re-adopted directory.
    func absentSinceBinding() -> Set<TaskPath> {
        guard isReadopted else { return [] }
        let known = Array(index.allPaths) + lists.paths.values + attachments.all.compactMap { path(of: $0) }
        return Set(known.filter { folder.isAbsent($0) })
    }

    /// Forgets absent files of a re-adopted directory, so that they are written again: nothing that
    /// is absent there was deleted. While a part cannot be read, the absent files may be in it and
    /// stay known.
    ///
    /// - Parameter absent: The files that were absent when the complete scan began. Events report
    ///   those that disappeared since.
    func forgetAbsentSinceBinding(_ absent: Set<TaskPath>) async throws {
        guard isReadopted, !isPartlyUnreadable else { return }
        let absent = absent.filter { folder.isAbsent($0) }
        try await forget(Array(absent))
        let lacking = attachments.all.filter { path(of: $0).map(absent.contains) ?? false }.map(\.task)
        try await reviewAttachments(of: Array(Set(lacking)))
        let lost = lists.paths.filter { absent.contains($0.value) }.keys
        for list in lost { lists.remove(list) }
        retriedLists.formUnion(
            try await client.transaction { transaction in
                let tables = SyncTables(transaction)
                try tables.removeState("bound-anew")
                return try lost.map { list in
                    try tables.remove(list: list)
                    return try DocumentName(list: list, in: transaction.databaseName)
                }
            })
        isReadopted = false
    }

    private func hold(_ code: String, _ message: String, hint: String?) {
        rootHold = SyncProblem(code: code, subject: nil, message: message, hint: hint)
        holdBegins.yield()
    }
}
