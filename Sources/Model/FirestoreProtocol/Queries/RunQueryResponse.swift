package import DocumentModel

/// The message `google.firestore.v1.RunQueryResponse`: a document, or only the members that concern
/// all documents.
package struct RunQueryResponse: ProtobufMessage, Hashable {
    package var document: EncodedDocument?
    /// The id of a new transaction in the first response; otherwise empty.
    package var transaction: [UInt8]
    package var readTime: Timestamp?
    /// The number of results that the offset skipped.
    package var skippedResults: Int32
    /// Whether no response follows. Production does not send it.
    package var done: Bool
    package var explainMetrics: ExplainMetrics?

    package init(
        document: EncodedDocument? = nil, transaction: [UInt8] = [], readTime: Timestamp? = nil,
        skippedResults: Int32 = 0, done: Bool = false, explainMetrics: ExplainMetrics? = nil
    ) {
        self.document = document
        self.transaction = transaction
        self.readTime = readTime
        self.skippedResults = skippedResults
        self.done = done
        self.explainMetrics = explainMetrics
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: document = try reader.message()
            case 2: transaction = try reader.bytes()
            case 3: readTime = try reader.message()
            case 4: skippedResults = try reader.int32()
            case 6: done = try reader.bool()
            case 11: explainMetrics = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeIfPresent(document, field: 1)
        writer.writeUnlessDefault(transaction, field: 2)
        writer.writeIfPresent(readTime, field: 3)
        writer.writeUnlessDefault(skippedResults, field: 4)
        writer.writeUnlessDefault(done, field: 6)
        writer.writeIfPresent(explainMetrics, field: 11)
    }
}
