import DocumentModel

/// A traversal of a part of one collection, in the order of an index.
struct Scan: Sendable, Hashable {
    enum Column: Sendable, Hashable {
        /// The order of ids.
        case name
        /// The order of an index column (`FieldKey`, `CompositeIndex.path`), then of ids.
        case field([UInt8])
    }

    var collection: Int64
    var column: Column
    /// The range of keys; not used for `.name`.
    var range = IndexRange.all
    var descending = false
    /// The range of ids; only used for `.name`, and if `range` is a single key.
    var ids = IndexRange.all
}

/// The position at which a scan continues: after a row of the index, or after an id.
struct ScanPosition: Sendable, Hashable {
    var row: [UInt8]
    /// The length of the part of the row that is equal for documents whose values have the same
    /// key.
    var keyLength: Int
    /// Whether that key may have been cut, so that it does not distinguish all values.
    var isCut: Bool

    func hasSameKey(as other: ScanPosition) -> Bool {
        row.prefix(keyLength) == other.row.prefix(other.keyLength)
    }
}

/// The scans that a query reads, chosen by `QueryPlanner`. The results do not depend on the choice.
enum AccessPath: Sendable, Hashable {
    /// No document can match.
    case nothing
    /// The scan contains the results in their order.
    ///
    /// - needsMatching: false if everything scanned is a result.
    /// - sortsGroups: whether entries with equal keys are in a different order than the results.
    case ordered(Scan, needsMatching: Bool, sortsGroups: Bool)
    /// Each scan contains results in their order. Merged, they contain all results.
    case merged([MergedScans.Input])
    /// Everything that these scans contain is collected, then sorted. They may overlap.
    case gathered([Scan])

    var scans: [Scan] {
        switch self {
        case .nothing: []
        case .ordered(let scan, _, _): [scan]
        case .merged(let inputs): inputs.map(\.scan)
        case .gathered(let scans): scans
        }
    }
}
