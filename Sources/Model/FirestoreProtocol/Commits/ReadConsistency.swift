package import DocumentModel

/// The `consistency_selector` of reads: the state that they see. Without one they see the newest.
package enum ReadConsistency: Sendable, Hashable {
    case transaction([UInt8])
    /// Begins a transaction, whose id the first response brings.
    case newTransaction(TransactionOptions)
    case readTime(Timestamp)
}

extension ReadConsistency? {
    /// Writes the member that is set. Each message has its own field numbers; nil stands for a
    /// member that the message does not have.
    func encode(to writer: inout ProtobufWriter, transaction: Int, newTransaction: Int?, readTime: Int) {
        switch self {
        case .transaction(let id)?: writer.write(id, field: transaction)
        case .newTransaction(let options)?: if let newTransaction { writer.write(options, field: newTransaction) }
        case .readTime(let time)?: writer.write(time, field: readTime)
        case nil: break
        }
    }
}

extension ProtobufReader {
    mutating func precondition() throws(ProtocolError) -> Precondition? {
        try nested(Precondition.self) { inner throws(ProtocolError) in try Precondition.optional(from: &inner) }
    }
}
