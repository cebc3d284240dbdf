package import DocumentModel

/// The message `google.firestore.v1.ExecutePipelineResponse`.
package struct ExecutePipelineResponse: ProtobufMessage, Hashable {
    package var transaction: [UInt8]
    package var results: [DocumentDraft]
    package var executionTime: Timestamp?
    package var explainStats: AnyMessage?

    package init(
        transaction: [UInt8] = [], results: [DocumentDraft] = [], executionTime: Timestamp? = nil,
        explainStats: AnyMessage? = nil
    ) {
        self.transaction = transaction
        self.results = results
        self.executionTime = executionTime
        self.explainStats = explainStats
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: transaction = try reader.bytes()
            case 2: results.append(try reader.message())
            case 3: executionTime = try reader.message()
            case 4: explainStats = try reader.message(ExplainStats.self).data
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(transaction, field: 1)
        writer.writeEach(results, field: 2)
        writer.writeIfPresent(executionTime, field: 3)
        writer.writeIfPresent(explainStats.map { ExplainStats(data: $0) }, field: 4)
    }
}

/// The message `google.firestore.v1.ExplainStats`.
private struct ExplainStats: ProtobufMessage {
    var data: AnyMessage

    init(data: AnyMessage) { self.data = data }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        data = AnyMessage()
        while try reader.next() {
            if reader.field == 1 {
                data = try reader.message()
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.write(data, field: 1) }
}
