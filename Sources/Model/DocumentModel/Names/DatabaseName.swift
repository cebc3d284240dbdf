/// The name of a database: `projects/{project}/databases/{database}`.
public struct DatabaseName: Sendable, Hashable, CustomStringConvertible {
    /// The id of the project.
    public let project: String
    /// The id of the database within the project.
    public let database: String

    /// Creates the name of a database without checking the ids.
    ///
    /// - Parameter database: `(default)`, unless the project has several databases.
    public init(project: String, database: String = "(default)") {
        self.project = project
        self.database = database
    }

    /// Creates a name by parsing `projects/{p}/databases/{d}`. Throws if the text has further
    /// parts.
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

    /// The name in the form `projects/{project}/databases/{database}`.
    public var description: String { "projects/\(project)/databases/\(database)" }

    /// The prefix of every document's resource name, without a slash at the end.
    public var documentsRoot: String { "\(description)/documents" }
}

/// A text that is not a resource name or field path. The message names the text and says what is
/// wrong with it.
public struct NameError: Error, Hashable, CustomStringConvertible {
    /// The description of the problem.
    public let message: String

    /// Creates an error with a message.
    public init(_ message: String) {
        self.message = message
    }

    /// The same as `message`.
    public var description: String { message }
}
