public import DocumentModel

/// News of a document in the feed of changes: that it changed, not how. Read it to learn what it is now.
public struct DocumentChangeNotice: Sendable, Hashable {
    /// The place in the feed; acknowledge it when everything up to it has been dealt with.
    public let sequence: Int64
    public let name: DocumentName
    /// Whether the document is gone only because no target has it any more (unshared, or it left the query).
    public let isOutside: Bool
}
