public import DocumentModel

/// An entry of the feed of changes. It says that a document changed, not how; read the document for
/// its present content.
public struct DocumentChangeNotice: Sendable, Hashable {
    /// The position in the feed. Acknowledge it when everything up to it has been processed.
    public let sequence: Int64
    /// The name of the document.
    public let name: DocumentName
    /// Whether the document is gone only because no target contains it any more (it was unshared,
    /// or left the query).
    public let isOutside: Bool
}
