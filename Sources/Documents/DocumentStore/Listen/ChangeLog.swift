package import DocumentModel
import FirestoreProtocol

/// Reads past commits from the log for listeners.
package struct ChangeLog {
    private static let byteLimit = 16 << 20

    let snapshot: any StoreSnapshot

    package init(snapshot: any StoreSnapshot) {
        self.snapshot = snapshot
    }

    /// Returns commits after `start` up to `end`, oldest first, with only the changes whose
    /// document passes `isWanted`.
    ///
    /// - Parameter limit: the approximate number of changes to read; `byteLimit` limits their
    ///   content. A commit is never split.
    /// - Returns: The commits, and the time up to which they are complete.
    package func commits(
        after start: Int64, through end: Int64, limit: Int, isWanted: (DocumentName) -> Bool
    ) throws -> (records: [CommitRecord], through: Int64) {
        var records: [CommitRecord] = []
        var changes: [CommitRecord.Change] = []
        var time = start
        var count = 0
        var bytes = 0
        var isCut = false
        func close() {
            if !changes.isEmpty { records.append(CommitRecord(time: Timestamp(microseconds: time), changes: changes)) }
            changes = []
        }
        try snapshot.readChanges(after: start, through: end) { change in
            if change.time != time {
                close()
                if count >= limit || bytes >= Self.byteLimit {
                    isCut = true
                    return false
                }
                time = change.time
            }
            count += 1
            // A damaged row lacks only the replaced version; the present version is stored
            // elsewhere.
            let known = try? snapshot.name(collection: change.collection, id: change.id)
            guard change.isIntact || known != nil else { return true }
            let name = try known ?? snapshot.name(collection: change.collection, id: change.id)
            guard isWanted(name) else { return true }
            var before: Document?
            if let replaced = change.replaced {
                bytes += replaced.fields.count
                before = try Document(
                    EncodedDocument(
                        name: name, createTime: replaced.createTime, updateTime: replaced.updateTime,
                        fields: replaced.fields))
            }
            guard
                case .known(let encoded) = try snapshot.unlessDamaged({
                    try snapshot.document(name, collection: change.collection, id: change.id, at: time)
                })
            else { return true }
            bytes += encoded?.fields.bytes.count ?? 0
            changes.append(
                CommitRecord.Change(
                    name: name, before: before, after: try encoded.map(Document.init), encoded: encoded))
            return true
        }
        close()
        return (records, isCut ? time : end)
    }

    /// Returns the names of the documents that were changed between two times. Returns nil if there
    /// are more than `limit` wanted ones.
    func changedNames(
        from start: Int64, to end: Int64, limit: Int, isWanted: (DocumentName) -> Bool
    ) throws -> Set<DocumentName>? {
        var names = Set<DocumentName>()
        try snapshot.readChangedDocuments(after: start, through: end) { collection, id in
            let name = try snapshot.name(collection: collection, id: id)
            if isWanted(name) { names.insert(name) }
            return names.count <= limit
        }
        return names.count <= limit ? names : nil
    }

    /// Returns the differences of some documents between two times as one commit, without documents
    /// that are not in the selection at either time. Returns nil if the others have more content
    /// than should be held in memory.
    func difference(
        of names: Set<DocumentName>, in selection: ListenMachine.Selection, from start: Int64, to end: Int64
    ) throws -> CommitRecord? {
        let names = names.sorted()
        var changes: [CommitRecord.Change] = []
        var bytes = 0
        snapshot.prefetch(names[...])
        for name in names {
            // A damaged document must not be reported as deleted.
            guard case .known(let after) = try snapshot.unlessDamaged({ try snapshot.document(name, at: end) }) else {
                continue
            }
            let before: EncodedDocument? =
                switch try snapshot.unlessDamaged({ try snapshot.document(name, at: start) }) {
                case .known(let document): document
                case .damaged: nil
                }
            guard before != after, try selection.contains(before) || selection.contains(after) else { continue }
            bytes += (before?.fields.bytes.count ?? 0) + (after?.fields.bytes.count ?? 0)
            guard bytes <= Self.byteLimit else { return nil }
            changes.append(
                CommitRecord.Change(
                    name: name, before: try before.map(Document.init), after: try after.map(Document.init),
                    encoded: after))
        }
        return CommitRecord(time: Timestamp(microseconds: end), changes: changes)
    }
}
