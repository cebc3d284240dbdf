package import DocumentModel

/// A page of the positions at which a query can be split.
package struct PartitionPage: Sendable {
    /// The first document of each part after the first, in ascending order.
    package let names: [DocumentName]
    /// The token of the next page; empty after the last page.
    package let nextPageToken: String

    /// The number of documents below which nothing is split, as in production.
    private static let minimum = 128

    /// Splits `all` results into at most `count` + 1 parts of about equal size, and selects the
    /// positions after `token`.
    init(of all: [DocumentName], count: Int64, pageSize: Int32, after token: PageToken?, at time: Timestamp) {
        var names: [DocumentName] = []
        if all.count >= Self.minimum {
            let parts = Int(min(count, Int64(all.count / (Self.minimum / 2)))) + 1
            names = (1..<parts).map { all[$0 * all.count / parts] }
        }
        // The token has the same read time, so its position is among these.
        if let token {
            let next = names.firstIndex { UTF8Order.areEqual($0.path, token.text) }.map { $0 + 1 } ?? names.count
            names.removeFirst(next)
        }
        var rest = ""
        if pageSize > 0, names.count > Int(pageSize) {
            names.removeLast(names.count - Int(pageSize))
            rest = names.last.map { PageToken(time: time, text: $0.path).description } ?? ""
        }
        self.names = names
        nextPageToken = rest
    }
}

extension Query {
    func checkPartition(count: Int64, pageSize: Int32) throws(DocumentStoreError) {
        guard allDescendants, filter == nil, limit == nil, offset == 0, start == nil, end == nil,
            orders.allSatisfy({ $0.path.isDocumentName && !$0.descending })
        else {
            throw DocumentStoreError(
                .invalidArgument,
                "A query to partition must be a collection group query ordered by __name__ ascending, without filters, "
                    + "limits, offsets, and cursors.")
        }
        guard count > 0 else { throw DocumentStoreError(.invalidArgument, "partition_count must be greater than 0.") }
        guard pageSize >= 0 else { throw DocumentStoreError(.invalidArgument, "Page size must be nonnegative.") }
    }
}
