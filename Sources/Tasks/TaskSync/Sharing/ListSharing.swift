import DocumentModel
package import TaskModel

/// Whose a list is and who may use it, as its document says.
package struct ListSharing: Sendable, Hashable {
    package var owner: UserID?
    /// The users who may read and write its tasks besides the owner.
    package var members: [UserID]
    /// What to call owner and members, by id: their e-mail addresses when the list was shared.
    package var names: [UserID: String]

    /// `lists/{id}.names`.
    static let namesField = FieldPath(key: "names")

    init(fields: [String: Value]) {
        let list = TaskList(fields: fields)
        owner = list.userId
        members = list.sharedWith
        let names = (fields["names"]?.mapValue ?? [:]).compactMap { user, name in
            name.stringValue.map { (UserID(user), $0) }
        }
        self.names = Dictionary(names) { $1 }
    }

    /// The owner, if it is another user who lets `user` use the list.
    func host(of user: UserID) -> UserID? { owner != user && members.contains(user) ? owner : nil }

    /// Whose a task in a list is: the list's owner's, so that it stays with the others when a member leaves.
    static func owner(ofTasksIn list: String?, hosts: [String: UserID], user: UserID) -> UserID {
        list.flatMap { hosts[$0] } ?? user
    }
}
