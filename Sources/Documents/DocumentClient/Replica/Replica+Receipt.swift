import DocumentModel
import FirestoreProtocol
import SQLite

/// What is known of the remote's will to take receipts.
enum ReceiptState: Sendable, Hashable {
    /// Nothing; they are sent in good faith.
    case unproven
    /// A commit was refused, and it may be the receipt's fault: it is to be tried alone.
    case suspected
    case probing
    /// The trial alone met another version; it is being read.
    case reading
    /// The remote takes them.
    case proven
    /// The rules refuse them; commits go without.
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

    /// After a commit: the receipt, if there was one, is its last write.
    func noteReceipt(of result: CommitResult) throws {
        let sequences = journal.current?.sequences ?? []
        let count = sequences.reduce(0) { $0 + (journal.entries[$1]?.writeCount ?? 0) }
        guard result.writeResults.count == count + 1 else { return }
        receiptState = .proven
        try setReceiptVersion(result.writeResults.last?.updateTime ?? result.commitTime)
    }

    /// After a read: what the receipt says was committed, and whether it is another one than this replica knew.
    ///
    /// A receipt is only taken as known, so that the next commit may replace it, when nothing it tells is still open.
    ///
    /// - Parameter sequences: those whose documents were read too.
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

    /// Answers false if there is nothing to find out.
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
