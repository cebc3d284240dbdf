package import DocumentModel

/// The message `google.firestore.v1.WriteRequest` of the Write stream.
package struct WriteRequest: ProtobufMessage, Hashable {
    /// The database, which is required only in the first request of a stream.
    package var database: DatabaseName?
    package var streamID: String
    package var writes: [Write]
    /// The token of the last response; empty in the first request of a new stream.
    package var streamToken: [UInt8]
    package var labels: [String: String]

    package init(
        database: DatabaseName? = nil, streamID: String = "", writes: [Write] = [], streamToken: [UInt8] = [],
        labels: [String: String] = [:]
    ) {
        self.database = database
        self.streamID = streamID
        self.writes = writes
        self.streamToken = streamToken
        self.labels = labels
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: database = try DatabaseName(optionalMessage: try reader.string())
            case 2: streamID = try reader.string()
            case 3: writes.append(try reader.message())
            case 4: streamToken = try reader.bytes()
            case 5: try Labels.readEntry(from: &reader, into: &labels)
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        if let database { writer.write(database.description, field: 1) }
        writer.writeUnlessDefault(streamID, field: 2)
        writer.writeEach(writes, field: 3)
        writer.writeUnlessDefault(streamToken, field: 4)
        Labels.write(labels, field: 5, to: &writer)
    }
}
