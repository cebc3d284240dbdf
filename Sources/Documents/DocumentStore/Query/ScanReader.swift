import DocumentModel
import FirestoreProtocol

/// Reads the newest versions of documents along a scan.
struct ScanReader {
    struct Candidate {
        let position: ScanPosition
        let document: EncodedDocument
    }

    /// Receives the next document. Returns whether to continue.
    typealias Body = (Candidate) throws -> Bool

    let snapshot: any StoreSnapshot

    /// Calls `body` with each document after `position` until it returns false.
    func read(_ scan: Scan, after position: ScanPosition?, _ body: Body) throws {
        switch scan.column {
        case .name:
            var ids = scan.ids
            if let position {
                if scan.descending { ids.upper = position.row } else { ids.lower = position.row + [0] }
            }
            try readNames(scan, ids: ids, body)
        case .field(let key):
            guard let number = try snapshot.field(key) else { return }
            try readEntries(scan, number, after: position, body)
        }
    }

    /// Returns the rows of the index that a scan of column `number` reads.
    static func rows(of scan: Scan, _ number: Int64) -> (prefix: [UInt8], lower: [UInt8], upper: [UInt8]) {
        let prefix = IndexEntries.prefix(collection: scan.collection, column: number)
        if let key = scan.range.singleKey {
            return (prefix, prefix + key + scan.ids.lower, prefix + key + scan.ids.upper)
        }
        return (prefix, prefix + scan.range.lower, prefix + scan.range.upper)
    }

    private func readNames(_ scan: Scan, ids: IndexRange, _ body: Body) throws {
        try snapshot.readDocuments(
            of: scan.collection, from: ids.lower, below: ids.upper, descending: scan.descending
        ) { id, document in
            try body(
                Candidate(position: ScanPosition(row: id, keyLength: 0, isCut: false), document: document))
        }
    }

    private func readEntries(_ scan: Scan, _ number: Int64, after position: ScanPosition?, _ body: Body) throws {
        var (prefix, lower, upper) = Self.rows(of: scan, number)
        if let position {
            if scan.descending { upper = position.row } else { lower = position.row + [0] }
        }
        try snapshot.readEntries(from: lower, below: upper, descending: scan.descending) { row, id, document in
            let keyLength = row.count - id.count
            let position = ScanPosition(
                row: row, keyLength: keyLength, isCut: keyLength - prefix.count >= IndexEntries.keyLimit)
            return try body(Candidate(position: position, document: document))
        }
    }
}
