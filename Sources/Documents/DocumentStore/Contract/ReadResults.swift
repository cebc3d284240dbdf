package import DocumentModel
package import FirestoreProtocol

/// Documents by name, of one moment.
package struct GetResult: Sendable {
    /// One a requested name, in order, up to the byte limit; nil where there is no such document.
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

package struct CollectionIDPage: Sendable {
    package let ids: [String]
    /// Empty after the last page.
    package let nextPageToken: String
}
