import DocumentModel

/// Collects matches in any order and answers the first of them in the order of the results.
///
/// Compares byte keys, which are made once a document; the plan decides only between keys that were cut. With a limit it keeps
/// little more than that many.
struct ResultCollector {
    private struct Entry {
        let key: OrderingKey
        let document: Document
    }

    private let plan: QueryPlan
    /// How many results are wanted; nil for all.
    private let wanted: Int?
    private var entries: [Entry] = []
    /// Once enough were seen: nothing after this one is wanted.
    private var bound: Entry?

    init(_ plan: QueryPlan, wanted: Int?) {
        self.plan = plan
        self.wanted = wanted
    }

    /// - Parameter document: with at least the fields that order.
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

    /// The names of the results, at most a little more than were wanted.
    mutating func names() -> [DocumentName] {
        entries.sort(by: precedes)
        return entries.map(\.document.name)
    }

    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        guard left.key.isTruncated || right.key.isTruncated else { return left.key < right.key }
        return plan.compare(left.document, right.document) < 0
    }
}
