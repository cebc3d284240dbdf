import DocumentClient
import DocumentModel

/// A collection of documents of one model.
public struct DocumentCollection<Model: DocumentModel>: Sendable {
    let owner: Ferry?
    let path: String

    /// The query for all documents of the collection.
    public var all: Query<Model> { Query(owner: owner, place: .collection(path)) }

    /// The reference to the document with an id.
    ///
    /// An id is not empty, is not `.` or `..`, and contains no `/`; otherwise the use of the
    /// reference throws.
    public subscript(id: String) -> Reference<Model> { Reference(checked: "\(path)/\(id)", in: owner) }

    /// Returns a reference to a new document, which has a random id and does not exist yet.
    public func reference() -> Reference<Model> { self[DocumentID.make()] }

    /// Adds a document with a random id. It is visible at once, and sent when the server can be
    /// reached.
    @discardableResult public func add(_ model: Model) async throws -> Reference<Model> {
        let reference = reference()
        _ = try await reference.ferry.batch { $0.create(model, reference) }
        return reference
    }

    /// Returns the query for the documents that satisfy a condition.
    ///
    ///     tasks.where { $0.isDone == false && $0.tags.contains("urgent") }
    public func `where`(_ condition: (Fields<Model>) -> Condition<Model>) -> Query<Model> { all.where(condition) }
}
