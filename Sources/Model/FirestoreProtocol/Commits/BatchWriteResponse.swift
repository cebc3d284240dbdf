package import DocumentModel

/// The message `google.firestore.v1.BatchWriteResponse`: a result and a status for each write, in
/// the order of the request.
package struct BatchWriteResponse: ProtobufMessage, Hashable {
    package var writeResults: [WriteResult]
    package var statuses: [RPCStatus]

    package init(writeResults: [WriteResult] = [], statuses: [RPCStatus] = []) {
        self.writeResults = writeResults
        self.statuses = statuses
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: writeResults.append(try reader.message())
            case 2: statuses.append(try reader.message())
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeEach(writeResults, field: 1)
        writer.writeEach(statuses, field: 2)
    }
}
