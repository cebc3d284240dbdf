/// The message `google.firestore.v1.ExecutionStats`.
package struct ExecutionStats: ProtobufMessage, Hashable {
    package var resultsReturned: Int64
    package var executionDuration: DurationMessage?
    package var readOperations: Int64
    /// The statistics by name. All values are strings in the responses of production.
    package var debugStats: [String: StructValue]?

    package init(
        resultsReturned: Int64 = 0, executionDuration: DurationMessage? = nil, readOperations: Int64 = 0,
        debugStats: [String: StructValue]? = nil
    ) {
        self.resultsReturned = resultsReturned
        self.executionDuration = executionDuration
        self.readOperations = readOperations
        self.debugStats = debugStats
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: resultsReturned = try reader.int64()
            case 3: executionDuration = try reader.message()
            case 4: readOperations = try reader.int64()
            case 5: debugStats = try reader.message(StructMessage.self).fields
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(resultsReturned, field: 1)
        writer.writeIfPresent(executionDuration, field: 3)
        writer.writeUnlessDefault(readOperations, field: 4)
        writer.writeIfPresent(debugStats.map { StructMessage(fields: $0) }, field: 5)
    }
}
