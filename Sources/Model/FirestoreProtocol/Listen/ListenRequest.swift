package import DocumentModel

/// The message `google.firestore.v1.ListenRequest`.
package struct ListenRequest: ProtobufMessage, Hashable {
    package enum Change: Sendable, Hashable {
        case add(ListenTarget)
        case remove(Int32)
    }

    /// The database, which is required only in the first request of a stream. Clients always set
    /// it.
    package var database: DatabaseName?
    package var change: Change?
    package var labels: [String: String]

    package init(database: DatabaseName? = nil, change: Change? = nil, labels: [String: String] = [:]) {
        self.database = database
        self.change = change
        self.labels = labels
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init()
        while try reader.next() {
            switch reader.field {
            case 1: database = try DatabaseName(optionalMessage: try reader.string())
            case 2: change = .add(try reader.message())
            case 3: change = .remove(try reader.int32())
            case 4: try Labels.readEntry(from: &reader, into: &labels)
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        if let database { writer.write(database.description, field: 1) }
        switch change {
        case .add(let target)?: writer.write(target, field: 2)
        case .remove(let id)?: writer.write(id, field: 3)
        case nil: break
        }
        Labels.write(labels, field: 4, to: &writer)
    }
}
