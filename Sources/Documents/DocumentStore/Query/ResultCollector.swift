import DocumentModel

/// Collects matches in any order and returns the first of them in the order of the results.
///
/// Compares byte keys, which are created once per document. The plan is consulted only for keys
/// that were cut. With a limit, the collector keeps little more than that number of matches.
struct ResultCollector {
    private struct Entry {
        let key: OrderingKey
        let document: Document
    }

    private let plan: QueryPlan
    /// The number of results wanted; nil for all.
    private let wanted: Int?
    private var entries: [Entry] = []
    /// The last wanted result, once enough matches were seen. Later matches are ignored.
    private var bound: Entry?

    init(_ plan: QueryPlan, wanted: Int?) {
        self.plan = plan
        self.wanted = wanted
    }

    /// Adds a match.
    ///
    /// - Parameter document: must have at least the fields by which results are ordered.
    mutating func add(_ document: Document) {
        var key = OrderingKey()
        for order in plan.orders {
            if order.path.isDocumentName {
                key.append(document.name, descending: order.descending)
            } else {
                key.append(document[order.path] ?? .null, descending: order.descending)
            }
        }
        let entry = Entry(key: key, document: document)
        if let bound, !precedes(entry, bound) { return }
        entries.append(entry)
        guard let wanted, entries.count >= 2 * wanted + 256 else { return }
        entries.sort(by: precedes)
        entries.removeLast(entries.count - wanted)
        bound = entries.last ?? entry
    }

    /// Returns the names of the results, at most a few more than wanted.
    mutating func names() -> [DocumentName] {
        entries.sort(by: precedes)
        return entries.map(\.document.name)
    }

    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        guard left.key.isTruncated || right.key.isTruncated else { return left.key < right.key }
        return plan.compare(left.document, right.document) < 0
    }
}
