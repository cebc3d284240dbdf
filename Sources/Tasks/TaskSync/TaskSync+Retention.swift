import DocumentClient
package import DocumentModel
import Reconciliation
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// What has been in the trash for long enough goes for good: of documents by a transaction on the
/// remote, of files here. What was put aside goes like the files of the trash, and incoming files
/// when nothing waits for them.
extension TaskSync {
    /// Looks now and then, but not at once: a machine that has been off for long first hears what others did meanwhile.
    func followRetention() async throws {
        try await environment.sleep(for: .seconds(15 * 60))
        while true {
            try await emptyTrash()
            try await withExclusiveAccess { removeUnwantedIncoming() }
            try await environment.sleep(for: .seconds(6 * 3600))
        }
    }

    /// Until when the trash keeps what was deleted then, as far as this machine is concerned; nil for ever.
    package nonisolated func trashKeeps(deletedAt time: Timestamp) -> Timestamp? {
        Retention(days: configuration.trashDays).end(since: time)
    }

    /// Deletes what has been in the trash for as long as it is kept. Does nothing while the
    /// directory or the remote is not the known one, or the replica is not as the remote has it.
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
                // The next look comes by itself.
                return logger.info("the trash is not emptied: \(error.message)")
            } catch let error as DocumentClientError where error.code == .contention {
                continue
            }
        }
    }

    /// Something that is here until it is old.
    private struct Kept {
        /// Names it among all of them, for as long as it is there.
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

    /// The time of a file's clock says little, so each counts from the moment at which it was first seen here.
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
        // Whatever should get such a name again counts anew.
        try await client.transaction { [gone] transaction in
            for key in gone { try SyncTables(transaction).removeTrashed(key) }
        }
    }

    private static let trashProblem = "trash"

    /// What keeps the trash from being emptied; the next look tells whether it still does.
    private func noteTrash(_ message: String) {
        logger.warning(message)
        let hint = "See that ferryd may read and change what is in .ferry; it tries again every six hours."
        note(SyncProblem(code: "trash", subject: ".ferry", message: message, hint: hint), for: Self.trashProblem)
    }

    /// How much was put aside here, and when the first of it goes for good; nil where that is
    /// never, or nothing counts yet.
    package func recovered() async throws -> (count: Int, goes: Timestamp?) {
        defer { releaseWhenIdle() }
        let names = try folder.recoveredNames()
        guard !names.isEmpty else { return (0, nil) }
        let seen = try await client.reading { try SyncTables($0).trashed() }
        return (names.count, names.compactMap { seen[Self.key(ofRecovered: $0)]?.server }.min().flatMap(trashKeeps))
    }

    /// Deletes what downloads have left that were given up or are not wanted any more, and copies
    /// that a crash cut short, whose command has failed: nothing of it is anybody's only copy, so
    /// it need not be kept. In one go: no transfer begins meanwhile.
    func removeUnwantedIncoming() {
        guard rootHold == nil else { return }
        let wanted = Set(transfers.transfers.values.filter { !$0.phase.isOver }.compactMap(\.incoming))
        for name in (try? folder.incomingNames()) ?? [] where !wanted.contains(name) && !copies.contains(name) {
            try? folder.removeIncoming(name)
        }
    }

    /// Deletes a task and its history, if the remote still has it in the trash.
    private func purge(_ task: String, _ retention: Retention, _ now: Retention.Moment) async throws {
        let (name, history) = try await client.reading { transaction in
            let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: task)
            let entries = Query(parent: ParentName(name), collectionID: TaskHistory.collection)
            return (name, try transaction.documents(entries).map(\.name))
        }
        let user = configuration.userID
        // The task goes with the last of its history, and the rest only where it would go, too.
        var rest = history[...]
        repeat {
            let part = rest.prefix(Self.purgeBatch)
            rest = rest.dropFirst(part.count)
            let isLast = rest.isEmpty
            let isDone = try await client.runTransaction { transaction in
                guard let document = try await transaction.document(name),
                    document.fields["userId"] == .string(user.rawValue),
                    let deleted = TaskItem(fields: document.fields).deletedTime,
                    // A time that a client made up counts no more than the remote's own.
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

    /// Deletes history entries of what users removed or replaced themselves. What a merge displaced stays.
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

    /// Remotes take 500 writes at once.
    private static let purgeBatch = 400
}

extension Retention.Moment {
    /// A time that the remote gave, which a clock that is right here would have shown as well.
    init(_ time: Timestamp) { self.init(server: time, machine: time.microseconds / 1_000_000) }
}
