public import DocumentModel

/// A list of tasks, represented by a folder of the tasks directory.
public struct TaskList: Sendable, Hashable {
    /// The name, which comes from other devices and may be any text. `TaskFileName.folder` derives
    /// a folder's name from it.
    public var name: String
    /// The id of the owner.
    public var userId: UserID?
    /// The ids of the users, besides the owner, who may read and write the list's tasks.
    public var sharedWith: [UserID]
    /// The time at which the server created the list.
    public var createdTime: Timestamp?

    /// Creates a list.
    public init(name: String, userId: UserID? = nil, sharedWith: [UserID] = [], createdTime: Timestamp? = nil) {
        self.name = name
        self.userId = userId
        self.sharedWith = sharedWith
        self.createdTime = createdTime
    }

    /// Creates the list that a document's fields represent. Fields that are missing or of another
    /// type count as absent.
    public init(fields document: [String: Value]) {
        name = document["name"]?.stringValue ?? ""
        userId = document["userId"]?.stringValue.map { UserID($0) }
        sharedWith = (document["sharedWith"]?.arrayValue ?? []).compactMap { $0.stringValue.map { UserID($0) } }
        createdTime = document["createdTime"]?.time
    }

    /// The list as a document's fields. Absent properties are omitted.
    public var documentFields: [String: Value] {
        var document: [String: Value] = ["name": .string(name)]
        document["userId"] = userId.map { .string($0.rawValue) }
        if !sharedWith.isEmpty { document["sharedWith"] = .array(sharedWith.map { .string($0.rawValue) }) }
        document["createdTime"] = createdTime.map { .timestamp($0) }
        return document
    }
}
