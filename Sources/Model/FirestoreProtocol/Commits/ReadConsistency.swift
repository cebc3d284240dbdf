package import DocumentModel

/// The state that a read sees, the `consistency_selector` of requests. A read without one sees the
/// newest state.
package enum ReadConsistency: Sendable, Hashable {
    case transaction([UInt8])
    /// The state of a new transaction, whose id is in the first response.
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
