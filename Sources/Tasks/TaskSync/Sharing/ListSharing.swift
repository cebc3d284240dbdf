import DocumentModel
import TaskModel

/// Whose a list is and who may use it, as its document says.
package struct ListSharing: Sendable, Hashable {
    package var owner: String?
    /// The users who may read and write its tasks besides the owner.
    package var members: [String]
    /// What to call owner and members, by id: their e-mail addresses when the list was shared.
    package var names: [String: String]

    /// `lists/{id}.names`.
    static let namesField = FieldPath(key: "names")

    init(fields: [String: Value]) {
        let list = TaskList(fields: fields)
        owner = list.userId
        members = list.sharedWith
        names = (fields["names"]?.mapValue ?? [:]).compactMapValues(\.stringValue)
    }

    /// The owner, if it is another user who lets `user` use the list.
    func host(of user: String) -> String? { owner != user && members.contains(user) ? owner : nil }

    /// Whose a task in a list is: the list's owner's, so that it stays with the others when a member leaves.
    static func owner(ofTasksIn list: String?, hosts: [String: String], user: String) -> String {
        list.flatMap { hosts[$0] } ?? user
    }
}
