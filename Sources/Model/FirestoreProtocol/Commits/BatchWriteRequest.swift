package import DocumentModel

/// The message `google.firestore.v1.BatchWriteRequest`: writes that are applied independently, in
/// any order.
package struct BatchWriteRequest: ProtobufMessage, Hashable {
    package var database: DatabaseName
    package var writes: [Write]
    package var labels: [String: String]

    package init(database: DatabaseName, writes: [Write] = [], labels: [String: String] = [:]) {
        self.database = database
        self.writes = writes
        self.labels = labels
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var database = ""
        var writes: [Write] = []
        var labels: [String: String] = [:]
        while try reader.next() {
            switch reader.field {
            case 1: database = try reader.string()
            case 2: writes.append(try reader.message())
            case 3: try Labels.readEntry(from: &reader, into: &labels)
            default: try reader.skip()
            }
        }
        self.init(database: try DatabaseName(message: database), writes: writes, labels: labels)
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.write(database.description, field: 1)
        writer.writeEach(writes, field: 2)
        Labels.write(labels, field: 3, to: &writer)
    }
}
