package import DocumentModel

/// The `consistency_selector` of reads: the state that they see. Without one they see the newest.
package enum ReadConsistency: Sendable, Hashable {
    case transaction([UInt8])
    /// Begins a transaction, whose id the first response brings.
    case newTransaction(TransactionOptions)
    case readTime(Timestamp)
}

extension ProtobufWriter {
    /// Each message numbers the members on its own; nil where it has no such member, and nothing is written then.
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
