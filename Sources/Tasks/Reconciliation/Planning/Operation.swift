package import DocumentModel

/// One effect that the executor is to have, and the conditions under which it may.
package struct Operation: Hashable, Sendable {
    package var node: NodeID
    package var action: Action
    package var expectation: Expectation
    /// The synced row of the node after the effect; `nil` removes it. Ignored for actions that do not
    /// change what was agreed on.
    package var row: SyncedRow?

    package init(_ node: NodeID, _ action: Action, _ expectation: Expectation, row: SyncedRow?) {
        self.node = node
        self.action = action
        self.expectation = expectation
        self.row = row
    }
}

/// The condition under which an operation happens.
///
/// If it does not hold, the executor does nothing, skips the later operations of the node in the plan, and
/// makes the node dirty.
package enum Expectation: Hashable, Sendable {
    case nothing
    /// The file has the contents that this stamp describes; a directory is the same directory. Renames
    /// by earlier operations of the plan do not matter.
    case stamp(Stamp)
    /// The same, and nothing has the location to which the file moves.
    case stampAndVacant(Stamp)
    /// Nothing has the location of the new file.
    case vacant
    /// The document has this version.
    case version(Timestamp)
    /// There is no document of this id.
    case noDocument
}

/// The kinds of effects.
package enum Action: Hashable, Sendable {
    // Documents
    case createDocument(Draft)
    /// The displaced values join the history in the same commit.
    case updateDocument(Draft, displaced: [Displaced])
    /// Takes a document out of the trash.
    case restoreDocument(Draft, displaced: [Displaced])
    case trashDocument
    /// Gives up the membership in a list of another user.
    case leaveList
    /// Removes a document from the trash for good.
    case purgeDocument
    // Files
    case createFile(Location, PlannedContents)
    case moveFile(Location)
    case writeFile(PlannedContents)
    /// Moves a file to the local trash, or removes an empty directory.
    case trashFile
    // Transfers, which end as observations
    case upload(Contents)
    case download(Contents)
    // Records only
    /// Both sides agree, or neither has the node any more. Only the synced row changes.
    case record
    /// Writes a change to the ledger of changes that are held for review.
    case hold(HeldChange)
    /// Removes a change from that ledger.
    case release

    /// The contents that a transfer transfers; `nil` for other actions.
    var contents: Contents? {
        switch self {
        case .upload(let contents), .download(let contents): contents
        default: nil
        }
    }

    /// Whether the effect changes what was agreed on.
    package var changesRow: Bool {
        switch self {
        case .leaveList, .purgeDocument, .upload, .download, .hold, .release: false
        default: true
        }
    }
}

/// Changes that can be held for review.
package enum HeldChange: String, Hashable, Sendable {
    case delete
    /// The file went back to an earlier version, together with many others.
    case revert
}
