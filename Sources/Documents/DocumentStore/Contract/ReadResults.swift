package import DocumentModel
package import FirestoreProtocol

/// Documents by name, read at one point in time.
package struct GetResult: Sendable {
    /// One a requested name, in order, up to the byte limit; nil where there is no such document.
    package let documents: [EncodedDocument?]
    package let readTime: Timestamp
}

/// A query that has been started.
package struct QueryResult: Sendable {
    /// The time at which all documents are read.
    package let readTime: Timestamp
    /// The results in order, read on demand in small pages. Holds no lock and no database snapshot.
    package let documents: QueryDocuments
    /// The indexes that the query reads.
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
    /// The token of the next page; empty after the last page.
    package let nextPageToken: String
}
