import DocumentModel
import FirestoreProtocol
import SQLite

/// Knowledge about whether the remote accepts receipts.
enum ReceiptState: Sendable, Hashable {
    /// Unknown; receipts are sent.
    case unproven
    /// A commit was refused, possibly because of the receipt, which must be tried alone.
    case suspected
    case probing
    /// The trial met another version of the receipt, which is being read.
    case reading
    /// The remote accepts receipts.
    case proven
    /// The rules refuse receipts; commits are sent without one.
    case refused
}

/// Decides whether commits carry a receipt, and remembers the version of it that the remote has.
struct ReceiptTracker {
    let receipt: CommitReceipt?
    let database: SQLiteDatabase
    private(set) var state = ReceiptState.unproven

    init(receipt: CommitReceipt?, database: SQLiteDatabase) {
        self.receipt = receipt
        self.database = database
    }

    /// The receipt, unless the remote refuses it.
    var accepted: CommitReceipt? { state == .refused ? nil : receipt }

    /// Whether commits of this mutation carry a receipt.
    func signs(_ mutation: Mutation) -> Bool { accepted?.signs(mutation) == true }

    /// The version of the receipt that the remote is known to have; nil if it has none.
    func version() throws -> Timestamp? {
        let sql = "SELECT value FROM client_state WHERE key='receipt_version'"
        return try database.first(sql) { Timestamp(microseconds: $0.int64(0)) }
    }

    /// Records the version of the receipt that the remote has.
    func setVersion(_ version: Timestamp?) throws {
        guard let version else { return try database.execute("DELETE FROM client_state WHERE key='receipt_version'") }
        try database.execute(
            "INSERT INTO client_state VALUES('receipt_version', ?1) ON CONFLICT DO UPDATE SET value=?1",
            [.integer(version.microseconds)])
    }

    /// Records the receipt after a commit, whose last write it is.
    ///
    /// - Parameter count: the writes of the commit without the receipt.
    mutating func note(_ result: CommitResult, writeCount count: Int) throws {
        guard result.writeResults.count == count + 1 else { return }
        state = .proven
        try setVersion(result.writeResults.last?.updateTime ?? result.commitTime)
    }

    // MARK: Trying the receipt alone

    /// Starts a trial of the receipt. Returns false if there is nothing to determine.
    mutating func probe() -> Bool {
        guard receipt != nil, state == .unproven else { return false }
        state = .suspected
        return true
    }

    /// Returns the next request of a trial; nil if there is none.
    mutating func nextProbe() throws -> Replica.Request? {
        guard let receipt else { return nil }
        if state == .reading { return .read([receipt.document]) }
        guard state == .suspected else { return nil }
        state = .probing
        return .commit([receipt.probe(version: try version())])
    }

    /// Records the commit of a trial. Returns false if the commit was none of a trial.
    mutating func probeCommitted(_ result: CommitResult) throws -> Bool {
        guard state == .probing else { return false }
        state = .proven
        try setVersion(result.writeResults.first?.updateTime ?? result.commitTime)
        return true
    }

    /// Records the read of a trial. Returns false if the read was none of a trial.
    mutating func probeRead() -> Bool {
        guard state == .reading else { return false }
        state = .suspected
        return true
    }

    /// Handles the failure of a trial. Returns nil if the request was none of a trial.
    mutating func probeFailed(_ code: RemoteError.Code) -> Journal.Verdict? {
        guard state == .probing || state == .reading else { return nil }
        if code.isTransient || code == .unauthenticated {
            state = .suspected
            return code.isTransient ? .goOn(wait: true) : .signIn
        }
        state = state == .probing && code == .precondition ? .reading : .refused
        return .goOn(wait: false)
    }
}
