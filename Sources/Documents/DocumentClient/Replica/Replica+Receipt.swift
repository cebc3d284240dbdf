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

extension Replica {
    /// Whether commits of this mutation carry a receipt.
    func signs(_ mutation: Mutation) -> Bool { receiptState != .refused && receipt?.signs(mutation) == true }

    func receiptVersion() throws -> Timestamp? {
        let sql = "SELECT value FROM client_state WHERE key='receipt_version'"
        return try database.first(sql) { Timestamp(microseconds: $0.int64(0)) }
    }

    private func setReceiptVersion(_ version: Timestamp?) throws {
        guard let version else { return try database.execute("DELETE FROM client_state WHERE key='receipt_version'") }
        try database.execute(
            "INSERT INTO client_state VALUES('receipt_version', ?1) ON CONFLICT DO UPDATE SET value=?1",
            [.integer(version.microseconds)])
    }

    /// Records the receipt after a commit, whose last write it is.
    func noteReceipt(of result: CommitResult) throws {
        let sequences = journal.current?.sequences ?? []
        let count = sequences.reduce(0) { $0 + (journal.entries[$1]?.writeCount ?? 0) }
        guard result.writeResults.count == count + 1 else { return }
        receiptState = .proven
        try setReceiptVersion(result.writeResults.last?.updateTime ?? result.commitTime)
    }

    /// Records the receipt after a read. Returns the mutations that it shows as committed, and
    /// whether it differs from the known one.
    ///
    /// A receipt is recorded as known, so that the next commit may replace it, only if none of its
    /// mutations is unresolved.
    ///
    /// - Parameter sequences: the mutations whose documents were read too.
    func noteReceipt(
        _ states: [String: RemoteState], for sequences: [Int64]
    ) throws -> (signed: Set<Int64>, isNew: Bool) {
        guard let receipt, receiptState != .refused, let state = states[receipt.document.path] else {
            return ([], false)
        }
        let known = try receiptVersion()
        switch state {
        case .missing:
            try setReceiptVersion(nil)
            return ([], known != nil)
        case .exists(let document):
            let signed = CommitReceipt.sequences(in: try document.fields.decoded())
            let others = signed.filter { journal.entries[$0] != nil }.subtracting(sequences).sorted()
            if others.isEmpty {
                try setReceiptVersion(document.updateTime)
            } else {
                for other in others { try unpark(other) }
                journal.readNext(others)
            }
            return (signed, known != document.updateTime)
        }
    }

    // MARK: Trying the receipt alone

    /// Starts a trial of the receipt. Returns false if there is nothing to determine.
    func probeReceipt() -> Bool {
        guard receipt != nil, receiptState == .unproven else { return false }
        receiptState = .suspected
        return true
    }

    func nextProbe() throws -> Request? {
        guard let receipt, journal.current == nil else { return nil }
        if receiptState == .reading { return .read([receipt.document]) }
        guard receiptState == .suspected else { return nil }
        receiptState = .probing
        return .commit([receipt.probe(version: try receiptVersion())])
    }

    func probeCommitted(_ result: CommitResult) throws -> Bool {
        guard receiptState == .probing else { return false }
        receiptState = .proven
        try setReceiptVersion(result.writeResults.first?.updateTime ?? result.commitTime)
        return true
    }

    func probeRead(_ states: [String: RemoteState]) throws -> Bool {
        guard receiptState == .reading else { return false }
        receiptState = .suspected
        _ = try noteReceipt(states, for: [])
        return true
    }

    func probeFailed(_ code: RemoteError.Code) -> Journal.Verdict? {
        guard receiptState == .probing || receiptState == .reading else { return nil }
        if code.isTransient || code == .unauthenticated {
            receiptState = .suspected
            return code.isTransient ? .goOn(wait: true) : .signIn
        }
        receiptState = receiptState == .probing && code == .precondition ? .reading : .refused
        return .goOn(wait: false)
    }
}
