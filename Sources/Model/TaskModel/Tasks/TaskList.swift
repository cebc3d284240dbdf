public import DocumentModel

/// A list of tasks: a folder of the tasks directory.
public struct TaskList: Sendable, Hashable {
    /// Comes from elsewhere and may be anything; `TaskFileName.folder` makes a folder's name of it.
    public var name: String
    public var userId: String?
    /// The ids of the users who may read and write the list's tasks besides its owner.
    public var sharedWith: [String]
    public var createdTime: Timestamp?

    public init(name: String, userId: String? = nil, sharedWith: [String] = [], createdTime: Timestamp? = nil) {
        self.name = name
        self.userId = userId
        self.sharedWith = sharedWith
        self.createdTime = createdTime
    }

    /// Any field may be missing or of another type; it then counts as not said.
    public init(fields document: [String: Value]) {
        name = document["name"]?.stringValue ?? ""
        userId = document["userId"]?.stringValue
        sharedWith = (document["sharedWith"]?.arrayValue ?? []).compactMap(\.stringValue)
        createdTime = document["createdTime"]?.time
    }

    /// The list as a document's fields; what is not said is absent.
    public var documentFields: [String: Value] {
        var document: [String: Value] = ["name": .string(name)]
        document["userId"] = userId.map { .string($0) }
        if !sharedWith.isEmpty { document["sharedWith"] = .array(sharedWith.map { .string($0) }) }
        document["createdTime"] = createdTime.map { .timestamp($0) }
        return document
    }
}
