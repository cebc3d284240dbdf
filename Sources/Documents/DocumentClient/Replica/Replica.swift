import DocumentModel
import FirestoreProtocol
import SQLite

/// A client's durable copy of documents with its journal: the logic between external events and the
/// file.
///
/// Each method that changes something is one transaction (or part of the caller's), so a crash
/// between two calls neither loses nor repeats anything. Belongs to the owner of `database`; not
/// thread safe.
final class Replica {
    let file: ReplicaFile
    /// The id that identifies this replica in history and receipts, assigned once and stored in the
    /// file.
    let replicaID: String
    let policies: RebasePolicies
    var receipts: ReceiptTracker
    /// The damage found when the file was opened; empty unless it was opened for repair.
    let repaired: Repairs

    /// Boundaries that wait for the outcome of a commit on a document that they concern, oldest
    /// first.
    var held: [Boundary] = []

    init(
        database: SQLiteDatabase, databaseName: DatabaseName, replicaID: String,
        policies: RebasePolicies = RebasePolicies(), receipt: CommitReceipt? = nil, receipts: CommitReceipts? = nil,
        repairs: Bool = false, clock: @escaping () -> Int64 = { 0 }
    ) throws {
        self.policies = policies
        try database.migrate(ReplicaSchema.component, ReplicaSchema.migrations)
        if let known = try database.first("SELECT value FROM client_state WHERE key='replica'", [], { $0.text(0) }) {
            self.replicaID = known
        } else {
            self.replicaID = replicaID
            try database.execute("INSERT INTO client_state VALUES('replica', ?)", [.text(replicaID)])
        }
        let receipt = try receipt ?? receipts?.receipt(of: self.replicaID, in: databaseName)
        self.receipts = ReceiptTracker(receipt: receipt, database: database)
        repaired = repairs ? try ReplicaRepair.repair(database) : Repairs()
        file = try ReplicaFile(database: database, databaseName: databaseName, clock: clock)
    }

    // MARK: Parts

    var database: SQLiteDatabase { file.database }
    var databaseName: DatabaseName { file.databaseName }
    var journal: Journal { file.journal }
    var reader: ReplicaReader { ReplicaReader(file: file) }
    var targets: TargetTable { TargetTable(database: file.database) }

    /// Runs `body` as one transaction. A nested call is part of the outer one.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result { try file.transaction(body) }

    /// Adds mutations to the journal; see `ReplicaFile.append`.
    @discardableResult func append(_ mutations: [Mutation], asOne: Bool = false) throws -> [Int64] {
        try file.append(mutations, asOne: asOne)
    }

    /// Returns the document as this replica sees it.
    func snapshot(_ name: DocumentName) throws -> DocumentSnapshot { try reader.snapshot(name) }
}
