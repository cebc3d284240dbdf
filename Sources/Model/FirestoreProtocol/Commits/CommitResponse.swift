package import DocumentModel

/// The message `google.firestore.v1.CommitResponse`.
package struct CommitResponse: ProtobufMessage, Hashable {
    /// The results of the writes, in the order of the request.
    package var writeResults: [WriteResult]
    package var commitTime: Timestamp?

    package init(writeResults: [WriteResult] = [], commitTime: Timestamp? = nil) {
        self.writeResults = writeResults
        self.commitTime = commitTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: writeResults.append(try reader.message())
            case 2: commitTime = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeEach(writeResults, field: 1)
        writer.writeIfPresent(commitTime, field: 2)
    }
}
