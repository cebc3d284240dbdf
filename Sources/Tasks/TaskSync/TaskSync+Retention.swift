import DocumentClient
package import DocumentModel
import Reconciliation
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Deletes what has been in the trash for long enough: documents by a transaction on the server,
/// files in the local trash. Quarantined files are treated like those in the trash, and incoming
/// files are deleted when no transfer needs them.
extension TaskSync {
    /// Empties the trash at intervals, but not at once: a machine that was off for a long time
    /// first receives the changes of others.
    func followRetention() async throws {
        try await environment.sleep(for: .seconds(15 * 60))
        while true {
            try await emptyTrash()
            try await withExclusiveAccess { removeUnwantedIncoming() }
            try await environment.sleep(for: .seconds(6 * 3600))
        }
    }

    /// Returns the time until which the trash keeps a task that was deleted at a time, according to
    /// this machine's configuration; nil for unlimited.
    package nonisolated func trashKeeps(deletedAt time: Timestamp) -> Timestamp? {
        Retention(days: configuration.trashDays).end(since: time)
    }

    /// Deletes what has been in the trash for long enough. Does nothing while the directory or the
    /// server is not the known one, or while the replica is not up to date.
    func emptyTrash() async throws {
        let retention = Retention(days: configuration.trashDays)
        guard retention.days > 0, rootHold == nil, !isPaused, await client.currentStatus.isCurrent,
            let time = try await client.reading({ try $0.remoteTime })
        else { return }
        let now = Retention.Moment(server: time, machine: configuration.wallClock())
        try await withExclusiveAccess { try await emptyLocalTrash(retention, now) }
        do { try await purgeOwnHistory(retention, now) } catch let error as RemoteError {
            return logger.info("the history is not emptied: \(error.message)")
        }
        for entry in catalog.trashed where !entry.isPending && !entry.isParked {
            guard let deleted = entry.deletion?.time, retention.isOver(since: Retention.Moment(deleted), at: now)
            else { continue }
            do {
                try await purge(entry.id, retention, now)
            } catch let error as RemoteError {
                // The next attempt is automatic.
                return logger.info("the trash is not emptied: \(error.message)")
            } catch let error as DocumentClientError where error.code == .contention {
                continue
            }
        }
    }

    /// A file or document that is kept until it is old enough.
    private struct Kept {
        /// A key that no other one has while it is kept.
        let key: String
        let description: String
        let remove: @Sendable () throws(FolderError) -> Void
    }

    private static func key(ofRecovered name: String) -> String { "recovered/\(name)" }

    private func kept() throws(FolderError) -> [Kept] {
        let trash = try folder.trashEntries().map { [folder] entry in
            let origins = entry.origins.map(\.string).joined(separator: ", ")
            return Kept(key: entry.name, description: "the local trash: \(origins)") {
                () throws(FolderError) in try folder.purge(entry)
            }
        }
        let recovered = try folder.recoveredNames().map { [folder] name in
            Kept(key: Self.key(ofRecovered: name), description: "what was put aside: \(name)") {
                () throws(FolderError) in try folder.removeRecovered(name)
            }
        }
        return trash + recovered
    }

    /// Deletes old files from the local trash. The times of files say little, so the age is counted
    /// from the moment when a file was first seen there.
    private func emptyLocalTrash(_ retention: Retention, _ now: Retention.Moment) async throws {
        let kept: [Kept]
        do { kept = try self.kept() } catch {
            return noteTrash("The local trash cannot be looked through: \(error.message)")
        }
        problems[Self.trashProblem] = nil
        let seen = try await client.transaction { [keys = Set(kept.map(\.key))] transaction in
            let tables = SyncTables(transaction)
            let seen = try tables.trashed()
            for key in seen.keys where !keys.contains(key) { try tables.removeTrashed(key) }
            for key in keys where seen[key] == nil { try tables.putTrashed(key, now) }
            return seen
        }
        var gone: [String] = []
        for entry in kept where seen[entry.key].map({ retention.isOver(since: $0, at: now) }) ?? false {
            let failure = await offload { () -> FolderError? in
                do throws(FolderError) { try entry.remove() } catch { return error }
                return nil
            }
            if let failure {
                noteTrash("Should be gone, and stays in \(entry.description): \(failure.message)")
            } else {
                gone.append(entry.key)
                logger.info("gone from \(entry.description)")
            }
        }
        // A later file with such a name is counted from the beginning.
        try await client.transaction { [gone] transaction in
            for key in gone { try SyncTables(transaction).removeTrashed(key) }
        }
    }

    private static let trashProblem = "trash"

    /// Reports why the trash is not emptied. The next attempt reports it again if it still holds.
    private func noteTrash(_ message: String) {
        logger.warning(message)
        let hint = "See that ferryd may read and change what is in .ferry; it tries again every six hours."
        note(SyncProblem(code: "trash", subject: ".ferry", message: message, hint: hint), for: Self.trashProblem)
    }

    /// Returns the number of quarantined files, and the time at which the first of them is deleted;
    /// nil if that is never or not known yet.
    package func recovered() async throws -> (count: Int, goes: Timestamp?) {
        defer { releaseWhenIdle() }
        let names = try folder.recoveredNames()
        guard !names.isEmpty else { return (0, nil) }
        let seen = try await client.reading { try SyncTables($0).trashed() }
        return (names.count, names.compactMap { seen[Self.key(ofRecovered: $0)]?.server }.min().flatMap(trashKeeps))
    }

    /// Deletes the partial files of downloads that were given up or are not needed any more, and
    /// copies that were interrupted by a crash and whose commands have failed. None of them is the
    /// only copy of its content. This is one step, so that no transfer starts meanwhile.
    func removeUnwantedIncoming() {
        guard rootHold == nil else { return }
        let wanted = Set(transfers.transfers.values.filter { !$0.phase.isOver }.compactMap(\.incoming))
        for name in (try? folder.incomingNames()) ?? [] where !wanted.contains(name) && !copies.contains(name) {
            try? folder.removeIncoming(name)
        }
    }

    /// Deletes a task and its history, if the server still has it in the trash.
    private func purge(_ task: TaskID, _ retention: Retention, _ now: Retention.Moment) async throws {
        let (name, history) = try await client.reading { transaction in
            let name = try DocumentName(task: task, in: transaction.databaseName)
            let entries = Query(parent: ParentName(name), collectionID: TaskHistory.collection)
            return (name, try transaction.documents(entries).map(\.name))
        }
        let user = configuration.userID
        // The task is deleted together with the last part of its history, and the other parts only
        // if it will be deleted, too.
        var rest = history[...]
        repeat {
            let part = rest.prefix(Self.purgeBatch)
            rest = rest.dropFirst(part.count)
            let isLast = rest.isEmpty
            let isDone = try await client.runTransaction { transaction in
                guard let document = try await transaction.document(name),
                    document.fields["userId"] == .string(user.rawValue),
                    let deleted = TaskItem(fields: document.fields).deletedTime,
                    // A time that a client has invented counts no more than the server's own.
                    retention.isOver(since: Retention.Moment(max(deleted, document.updateTime)), at: now)
                else { return false }
                for entry in part { transaction.delete(entry) }
                if isLast { transaction.delete(name) }
                return true
            }
            guard isDone else { return }
        } while !rest.isEmpty
        logger.info("gone from the trash: \(task)")
    }

    /// Deletes history entries of values that users removed or replaced themselves. Values that a
    /// merge displaced stay.
    private func purgeOwnHistory(_ retention: Retention, _ now: Retention.Moment) async throws {
        let user = configuration.userID
        @Sendable func isOver(_ fields: [String: Value], _ updateTime: Timestamp) -> Bool {
            guard let replaced = fields["replacedTime"]?.timestampValue, fields["userId"] == .string(user.rawValue),
                TaskHistory.ownReasons.contains(fields["reason"]?.stringValue ?? "")
            else { return false }
            return retention.isOver(since: Retention.Moment(max(replaced, updateTime)), at: now)
        }
        let names = try await client.reading { transaction in
            try transaction.documents(Self.localQueries(in: transaction.databaseName).history).filter { entry in
                entry.updateTime.map { isOver(entry.fields, $0) } ?? false
            }.map(\.name)
        }
        for start in stride(from: 0, to: names.count, by: Self.purgeBatch) {
            let part = names[start..<min(start + Self.purgeBatch, names.count)]
            try await client.runTransaction { transaction in
                for name in part {
                    guard let entry = try await transaction.document(name), isOver(entry.fields, entry.updateTime)
                    else {
                        continue
                    }
                    transaction.delete(name)
                }
            }
        }
    }

    /// Servers accept 500 writes in a commit.
    private static let purgeBatch = 400
}

extension Retention.Moment {
    /// Creates the moment of a time that the server gave, assuming that a clock on this machine
    /// would have shown the same.
    init(_ time: Timestamp) { self.init(server: time, machine: time.microseconds / 1_000_000) }
}
