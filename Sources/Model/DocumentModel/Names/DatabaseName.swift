/// The name of a database: `projects/{project}/databases/{database}`.
public struct DatabaseName: Sendable, Hashable, CustomStringConvertible {
    public let project: String
    public let database: String

    /// - Parameter database: `(default)` unless the project has several.
    public init(project: String, database: String = "(default)") {
        self.project = project
        self.database = database
    }

    /// From `projects/{p}/databases/{d}`; what follows a further `/documents` is not allowed here.
    public init(parsing name: String) throws(NameError) {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].elementsEqual("projects".utf8), parts[2].elementsEqual("databases".utf8) else {
            throw NameError(
                "Invalid database name \"\(name.prefix(200))\": want projects/{project}/databases/{database}.")
        }
        try self.init(project: Substring(parts[1]), database: Substring(parts[3]))
    }

    init(project: Substring, database: Substring) throws(NameError) {
        for id in [project, database] {
            guard (1...100).contains(id.utf8.count) else {
                throw NameError("Project id and database id must have 1 to 100 bytes.")
            }
        }
        self.init(project: String(project), database: String(database))
    }

    public var description: String { "projects/\(project)/databases/\(database)" }

    /// The prefix of every document's resource name, without a slash at the end.
    public var documentsRoot: String { "\(description)/documents" }
}

/// A resource name or field path that cannot be one; the message names it and says what is wrong.
public struct NameError: Error, Hashable, CustomStringConvertible {
    public let message: String

    public init(_ message: String) {
        self.message = message
    }

    public var description: String { message }
}
