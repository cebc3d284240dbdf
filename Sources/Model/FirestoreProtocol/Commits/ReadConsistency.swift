package import DocumentModel

/// The state that a read sees, the `consistency_selector` of requests. A read without one sees the
/// newest state.
package enum ReadConsistency: Sendable, Hashable {
    case transaction([UInt8])
    /// The state of a new transaction, whose id is in the first response.
    case newTransaction(TransactionOptions)
    case readTime(Timestamp)
}

extension ProtobufWriter {
    /// Writes the selector with the field numbers of a message. A number is nil if the message has
    /// no such member; that member is then not written.
    mutating func write(
        _ consistency: ReadConsistency?, transaction: Int, newTransaction: Int?, readTime: Int
    ) {
        switch consistency {
        case .transaction(let id)?: write(id, field: transaction)
        case .newTransaction(let options)?: if let newTransaction { write(options, field: newTransaction) }
        case .readTime(let time)?: write(time, field: readTime)
        case nil: break
        }
    }

    mutating func writeMask(_ paths: [FieldPath]?, field: Int) {
        writeIfPresent(paths.map { DocumentMask($0) }, field: field)
    }
}

extension ProtobufReader {
    mutating func precondition() throws(ProtocolError) -> Precondition? {
        try nested(Precondition.self) { inner throws(ProtocolError) in try Precondition.optional(from: &inner) }
    }
}
