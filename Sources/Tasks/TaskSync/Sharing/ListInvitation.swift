package import DocumentModel
package import TaskModel

/// An invitation to a list that its recipient has not answered, in a document
/// `invitations/{from}.{to}.{list}`.
///
/// The server's rules let only the owner of the list create it. The texts come from the other
/// account.
package struct ListInvitation: Sendable, Hashable {
    /// The document's id.
    package let id: String
    /// The user ids of the list's owner and of the recipient.
    package let from: UserID
    package let to: UserID
    package let list: ListID
    package let listName: String
    /// The e-mail addresses of owner and recipient, as the owner entered them.
    package let fromName: String
    package let toName: String
    /// The time of the invitation; nil until the server has committed it.
    package let time: Timestamp?

    static let collection = "invitations"
    /// The collection of users whose invitations this user does not want, in documents
    /// `blocks/{user}.{other}`.
    static let blocks = "blocks"
    private static let fromField = FieldPath(key: "from")
    private static let toField = FieldPath(key: "to")

    /// Reads a document; nil if it is no invitation.
    init?(id: String, fields: [String: Value]) {
        guard let from = fields["from"]?.stringValue, let to = fields["to"]?.stringValue,
            let list = fields["listId"]?.stringValue, !list.isEmpty
        else { return nil }
        self.id = id
        self.from = UserID(from)
        self.to = UserID(to)
        self.list = ListID(list)
        listName = fields["listName"]?.stringValue ?? ""
        fromName = fields["fromName"]?.stringValue ?? from
        toName = fields["toName"]?.stringValue ?? to
        time = fields["createdTime"]?.timestampValue
    }

    /// Returns the document id of an invitation.
    static func id(from: UserID, to: UserID, list: ListID) -> String { "\(from).\(to).\(list)" }

    /// Returns the queries for the invitations to and from a user, and for the users that the user
    /// blocks.
    static func queries(of user: UserID, in database: DatabaseName) -> [Query] {
        let parent = ParentName(database)
        return [
            Query(parent: parent, collectionID: collection, filter: .field(toField, .equal, .string(user.rawValue))),
            Query(parent: parent, collectionID: collection, filter: .field(fromField, .equal, .string(user.rawValue))),
            Query(
                parent: parent, collectionID: blocks,
                filter: .field(FieldPath(key: "userId"), .equal, .string(user.rawValue))),
        ]
    }
}

/// An account whose invitations are refused.
package struct BlockedUser: Sendable, Hashable {
    package let user: UserID
    /// The e-mail address under which it was blocked.
    package let name: String
}
