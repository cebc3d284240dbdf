import DocumentModel
package import TaskModel

/// The owner and the members of a list, according to its document.
package struct ListSharing: Sendable, Hashable {
    package var owner: UserID?
    /// The users besides the owner who may read and write its tasks.
    package var members: [UserID]
    /// The names of owner and members, by id: their e-mail addresses when the list was shared.
    package var names: [UserID: String]

    /// The field `names` of a list's document.
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

    /// Returns the owner, if it is another user who shares the list with `user`.
    func host(of user: UserID) -> UserID? { owner != user && members.contains(user) ? owner : nil }

    /// Returns the owner of tasks in a list: the list's owner, so that the tasks stay with the
    /// others when a member leaves.
    static func owner(ofTasksIn list: ListID?, hosts: [ListID: UserID], user: UserID) -> UserID {
        list.flatMap { hosts[$0] } ?? user
    }
}
