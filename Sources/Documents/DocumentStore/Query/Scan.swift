import DocumentModel

/// One way through a part of one collection, in the order of an index.
struct Scan: Sendable, Hashable {
    enum Column: Sendable, Hashable {
        /// By id.
        case name
        /// By an index column (`FieldKey`, `CompositeIndex.path`), then by id.
        case field([UInt8])
    }

    var collection: Int64
    var column: Column
    /// Bounds of the keys; without meaning for `.name`.
    var range = IndexRange.all
    var descending = false
    /// Bounds of the ids; only for `.name` and where `range` is a single key.
    var ids = IndexRange.all
}

/// Where a scan goes on: after this row of the index, or after this id.
struct ScanPosition: Sendable, Hashable {
    var row: [UInt8]
    /// How much of the row is the same for documents whose values have the same key.
    var keyLength: Int
    /// Whether that key may have been cut: then it does not tell all values apart.
    var isCut: Bool

    func hasSameKey(as other: ScanPosition) -> Bool {
        row.prefix(keyLength) == other.row.prefix(other.keyLength)
    }
}

/// What a query reads, chosen by `QueryPlanner`. The results are the same whatever is chosen.
enum AccessPath: Sendable, Hashable {
    /// Nothing can match.
    case nothing
    /// The scan meets the results in their order.
    /// - needsMatching: false where everything scanned is a result.
    /// - sortsGroups: entries with equal keys come in another order than the results.
    case ordered(Scan, needsMatching: Bool, sortsGroups: Bool)
    /// Each scan meets results in their order; read side by side they meet all.
    case merged([MergedScans.Input])
    /// Everything these scans meet is collected, then sorted. They may overlap.
    case gathered([Scan])
}
