/// An index that a query reads.
package struct IndexUse: Sendable, Hashable {
    /// Whether the query looks into all collections of an id.
    package let isCollectionGroup: Bool
    /// As production writes it: `(user ASC, due DESC, __name__ DESC)`.
    package let properties: String
}

/// What it took to answer a query so far.
package struct QueryStatistics: Sendable, Hashable {
    /// Index entries, or names where the documents themselves are read in order.
    package var entriesScanned = 0
    package var documentsScanned = 0

    static func += (left: inout QueryStatistics, right: QueryStatistics) {
        left.entriesScanned += right.entriesScanned
        left.documentsScanned += right.documentsScanned
    }
}
