package import DocumentModel
package import FirestoreProtocol

/// Documents by name, of one moment.
package struct GetResult: Sendable {
    /// One a requested name, in order; nil where there is no such document.
    package let documents: [EncodedDocument?]
    package let readTime: Timestamp
}

/// A started query.
package struct QueryResult: Sendable {
    /// The moment of all its documents.
    package let readTime: Timestamp
    /// The results in order, read in small pages as they are asked for. Holds no lock and no snapshot of the disk.
    package let documents: QueryDocuments
    /// What it reads.
    package let indexes: [IndexUse]
}

package struct AggregateResult: Sendable {
    package let values: [String: Value]
    package let readTime: Timestamp
    package let indexes: [IndexUse]
    package let statistics: QueryStatistics
}

/// What `list` lists.
package struct DocumentListing: Sendable, Hashable {
    package var parent: ParentName
    package var collectionID: String
    /// 0: the store's own choice.
    package var pageSize: Int32
    /// From the page before; empty for the first.
    package var pageToken: String
    package var orders: [Query.Order]
    /// Also lists documents that do not exist but have something below them. Not with `orders`.
    package var showMissing: Bool

    package init(
        parent: ParentName, collectionID: String, pageSize: Int32 = 0, pageToken: String = "",
        orders: [Query.Order] = [], showMissing: Bool = false
    ) {
        self.parent = parent
        self.collectionID = collectionID
        self.pageSize = pageSize
        self.pageToken = pageToken
        self.orders = orders
        self.showMissing = showMissing
    }
}

package struct DocumentPage: Sendable {
    package enum Entry: Sendable, Hashable {
        case document(EncodedDocument)
        case missing(DocumentName)
    }

    package let entries: [Entry]
    /// Empty after the last page.
    package let nextPageToken: String
    package let readTime: Timestamp
}

package struct CollectionIDPage: Sendable {
    package let ids: [String]
    /// Empty after the last page.
    package let nextPageToken: String
}
