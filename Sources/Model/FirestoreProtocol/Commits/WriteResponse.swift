package import DocumentModel

/// The message `google.firestore.v1.WriteResponse` of the Write stream.
package struct WriteResponse: ProtobufMessage, Hashable {
    /// The id of the stream, which is set only in the first response.
    package var streamID: String
    /// The token of the stream, which is never empty. The client returns it with the next writes.
    package var streamToken: [UInt8]
    package var writeResults: [WriteResult]
    package var commitTime: Timestamp?

    package init(
        streamID: String = "", streamToken: [UInt8] = [], writeResults: [WriteResult] = [], commitTime: Timestamp? = nil
    ) {
        self.streamID = streamID
        self.streamToken = streamToken
        self.writeResults = writeResults
        self.commitTime = commitTime
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: streamID = try reader.string()
            case 2: streamToken = try reader.bytes()
            case 3: writeResults.append(try reader.message())
            case 4: commitTime = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(streamID, field: 1)
        writer.writeUnlessDefault(streamToken, field: 2)
        writer.writeEach(writeResults, field: 3)
        writer.writeIfPresent(commitTime, field: 4)
    }
}
