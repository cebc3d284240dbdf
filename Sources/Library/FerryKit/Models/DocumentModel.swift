/// The content of the documents of a collection: a structure whose properties are the fields.
///
///     struct Item: DocumentModel {
///         static let collection = "tasks"
///         var title: String
///         var isDone = false
///         var createdTime = ServerTime.pending
///         enum CodingKeys: String, CodingKey { case title, isDone = "completed", createdTime }
///     }
///
/// Names of fields are those of `CodingKeys`. A property that is nil is no field. The values that
/// documents hold besides the basic types: `Date`, `Data`, `GeoPoint`, `Reference`, `ServerTime`,
/// arrays, dictionaries with keys of type `String`, and nested structures.
public protocol DocumentModel: Codable, Sendable {
    /// The model of the documents that contain this collection; `Never` for a collection at the top.
    associatedtype Parent: DocumentModel = Never
    /// The id of the collection: the last part of its path.
    static var collection: String { get }
    /// The rules by which changes of several machines are merged.
    static var merging: Merging<Self> { get }
}

extension DocumentModel {
    /// Merges field by field: changes of different fields are all kept; of two changes of one field
    /// the one that reached the server last wins.
    public static var merging: Merging<Self> { Merging() }
}

/// The parent of the collections at the top. There are no documents of this type.
extension Never: DocumentModel {
    /// No collection.
    public static var collection: String { "" }
}
