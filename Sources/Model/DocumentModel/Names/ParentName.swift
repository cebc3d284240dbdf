/// The place where a query or a listing looks: the root of a database, or below a document, which
/// need not exist.
public struct ParentName: Sendable, Hashable, CustomStringConvertible {
    /// The database to look in.
    public let database: DatabaseName
    /// The document's path; empty for the root.
    public let path: String

    /// Creates the root of `database`.
    public init(_ database: DatabaseName) {
        self.database = database
        path = ""
    }

    /// Creates the place below a document.
    public init(_ document: DocumentName) {
        database = document.database
        path = document.path
    }

    /// Creates a place by parsing `…/documents` or a document's full name.
    public init(parsing name: String) throws(NameError) {
        let (database, path) = try DocumentName.split(name)
        if let path {
            self.init(try DocumentName(database: database, path: path))
        } else {
            self.init(database)
        }
    }

    /// Returns the path of the child collection `id`.
    public func collectionPath(_ id: String) -> String { path.isEmpty ? id : "\(path)/\(id)" }

    /// The resource name.
    public var description: String { path.isEmpty ? database.documentsRoot : "\(database.documentsRoot)/\(path)" }
}
