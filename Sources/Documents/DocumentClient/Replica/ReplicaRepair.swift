import FirestoreProtocol
import SQLite

/// The damaged parts of a replica's file, by the paths of documents.
package struct Repairs: Sendable, Hashable {
    /// The documents that are awaited from the remote.
    package var documents: Set<String> = []
    /// The documents with unsent changes that are lost, apart from what task files contain.
    package var mutations: Set<String> = []

    package var isEmpty: Bool { documents.isEmpty && mutations.isEmpty }
}

/// Recovers a replica's file from damage.
enum ReplicaRepair {
    /// Finds every row that has a wrong checksum or cannot be decoded, and recovers from it: a
    /// document is awaited from the remote, whose targets start from the beginning, and a mutation
    /// is removed. Indexes are rebuilt from their tables.
    ///
    /// - Throws: `SQLiteError` if the file has further damage.
    static func repair(_ database: SQLiteDatabase) throws -> Repairs {
        try database.transaction {
            try database.executeScript("REINDEX")
            var repairs = Repairs()
            var documents: [Int64] = []
            try database.query("SELECT \(DocumentRow.columns) FROM client_document") { row in
                let isGood = (try? DocumentRow(row).base()) != nil
                guard !isGood else { return }
                documents.append(row.int64(0))
                repairs.documents.insert("\(row.text(3))/\(row.text(4))")
            }
            for id in documents {
                try database.execute(
                    """
                    UPDATE client_document SET state=?1, fields=NULL, created=0, version=0,
                        sum=row_sum(collection, name, ?1, NULL, 0, 0)
                    WHERE id=?2
                    """, [.integer(DocumentRow.State.damaged), .integer(id)])
            }
            var mutations: [Int64] = []
            try database.query("SELECT sequence, path, content, sum FROM client_mutation") { row in
                if row.isIntact(0..<3, sum: 3), (try? MutationRecord.mutation(decoding: row.bytes(2))) != nil { return }
                mutations.append(row.int64(0))
                repairs.mutations.insert(row.text(1))
            }
            for sequence in mutations {
                try database.execute("DELETE FROM client_mutation WHERE sequence=?", [.integer(sequence)])
            }
            if !documents.isEmpty { try database.execute("UPDATE client_target SET token=x''") }
            return repairs
        }
    }
}
