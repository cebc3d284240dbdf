/// An index that a query reads.
package struct IndexUse: Sendable, Hashable {
    /// Whether the query reads all collections with an id.
    package let isCollectionGroup: Bool
    /// The fields in production's notation: `(user ASC, due DESC, __name__ DESC)`.
    package let properties: String
}

/// The cost of a query so far.
package struct QueryStatistics: Sendable, Hashable {
    /// The number of index entries read, or of names if documents are read in the order of their
    /// names.
    package var entriesScanned = 0
    package var documentsScanned = 0

    static func += (left: inout QueryStatistics, right: QueryStatistics) {
        left.entriesScanned += right.entriesScanned
        left.documentsScanned += right.documentsScanned
    }
}
