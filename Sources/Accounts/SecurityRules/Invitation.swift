package import DocumentModel

/// An invitation to a list, as the document `invitations/{from}.{to}.{list id}`.
///
/// `from` and `to` are user ids, `listId` names the list, `listName`, `fromName` and `toName` are
/// texts to show, and `createdTime` is the time of its creation. The owner of the list creates and
/// deletes it. The recipient accepts it by joining the list, or declines it by deleting it. No
/// other user can read it or learn whether it exists.
package enum Invitation {
    package static let collection = "invitations"
    /// The collection of users whose invitations a user does not want, as `blocks/{user}.{other}`;
    /// their `userId` is the user.
    package static let blocks = "blocks"

    package static let from = FieldPath(key: "from")
    package static let to = FieldPath(key: "to")
    package static let list = FieldPath(key: "listId")

    /// The maximum number of open invitations of one user.
    package static let limitFrom = 100
    /// The maximum number of open invitations of one user to another.
    package static let limitBetween = 20
    /// The maximum number of open invitations to one user.
    package static let limitTo = 200

    /// The texts of an invitation with their maximum lengths in bytes of UTF-8.
    private static let texts = ["listName": 1500, "fromName": 320, "toName": 320]
    private static let keys = Set(["from", "to", "listId", "createdTime"]).union(texts.keys)

    /// Returns the name of the invitation to a list; nil if the ids do not make a document id.
    package static func name(from host: String, to user: String, list: DocumentName) -> DocumentName? {
        try? DocumentName(database: list.database, collection: collection, id: "\(host).\(user).\(list.id)")
    }

    /// Returns the name of the document with which `user` blocks `other`.
    package static func block(of other: String, by user: String, in database: DatabaseName) -> DocumentName? {
        try? DocumentName(database: database, collection: blocks, id: "\(user).\(other)")
    }

    /// Whether a user is the sender or the recipient.
    static func isParty(_ user: String, to invitation: Document) -> Bool {
        invitation[from] == .string(user) || invitation[to] == .string(user)
    }

    /// Whether the id of an invitation names a user as its sender or its recipient.
    static func isParty(_ user: String, toID id: String) -> Bool {
        let parts = id.utf8.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count == 3 && parts.prefix(2).contains { $0.elementsEqual(user.utf8) }
    }

    static func isValid(_ invitation: Document, from host: String, to user: String, _ list: DocumentName) -> Bool {
        invitation[from] == .string(host) && invitation[to] == .string(user)
            && invitation[Self.list] == .string(list.id)
    }

    /// Returns the list that an invitation is for, and the block that would forbid it.
    static func names(deciding invitation: Document) -> [DocumentName] {
        guard let from = invitation[from]?.stringValue, let to = invitation[to]?.stringValue else { return [] }
        let database = invitation.name.database
        return [listName(of: invitation), block(of: from, by: to, in: database)].compactMap { $0 }
    }

    static func listName(of invitation: Document) -> DocumentName? {
        invitation[list]?.stringValue.flatMap {
            try? DocumentName(database: invitation.name.database, collection: "lists", id: $0)
        }
    }

    /// Whether an invitation has exactly the fields of one, because it is shown to a user who did
    /// not ask for it.
    static func isWellFormed(_ invitation: Document) -> Bool {
        guard Set(invitation.fields.keys).isSubset(of: keys), invitation.fields["createdTime"]?.timestampValue != nil
        else { return false }
        return texts.allSatisfy { key, limit in
            (invitation.fields[key]?.stringValue).map { $0.utf8.count <= limit } ?? false
        }
    }
}

extension BuiltInRules {
    /// The collections in which an id with a dot is in the namespace of a user.
    private static let namespaced: Set<String> = [
        "lists", "tasks", "devices", Invitation.collection, Invitation.blocks,
    ]

    /// Whether an id is in the namespace of another user than this one.
    package static func isForeign(_ name: DocumentName, to user: String) -> Bool {
        guard namespaced.contains(name.collectionPath), name.id.utf8.contains(UInt8(ascii: ".")) else { return false }
        return !name.id.utf8.starts(with: "\(user).".utf8)
    }

    /// Whether a user may learn that a document does not exist, which creating it reveals too.
    static func mayKnowAbsence(of name: DocumentName, _ user: String) -> Bool {
        !isForeign(name, to: user)
            || name.collectionPath == Invitation.collection && Invitation.isParty(user, toID: name.id)
    }

    /// Whether a change of an invitation is allowed.
    ///
    /// The owner of a list may invite a user who is not a member of it and has not blocked the
    /// owner. Both parties may delete the invitation.
    static func allowsInvitation(
        _ name: DocumentName, from before: Document?, to after: Document?, by user: String, _ address: String?,
        _ lookup: Lookup
    ) throws -> Bool {
        guard let after else { return before.map { Invitation.isParty(user, to: $0) } ?? true }
        if let before, before[Invitation.from] != .string(user) { return false }
        guard let address, after.fields["fromName"]?.stringValue == address, Invitation.isWellFormed(after),
            let to = after[Invitation.to]?.stringValue, to != user,
            let listName = Invitation.listName(of: after),
            Invitation.isValid(after, from: user, to: to, listName),
            name == Invitation.name(from: user, to: to, list: listName),
            let list = try lookup(listName), owns(user, list), !isMember(to, of: list),
            let block = Invitation.block(of: user, by: to, in: name.database)
        else { return false }
        return try lookup(block) == nil
    }
}
