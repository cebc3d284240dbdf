/// The message `google.firestore.v1.ExistenceFilter`: the number of documents of a target. A client
/// with a different number has to request the target again.
package struct ExistenceFilter: ProtobufMessage, Hashable {
    package var targetID: Int32
    package var count: Int32
    /// The names of the documents that have not changed since the resume token; nil if the server
    /// does not send them.
    package var unchangedNames: BloomFilter?

    package init(targetID: Int32, count: Int32, unchangedNames: BloomFilter? = nil) {
        self.targetID = targetID
        self.count = count
        self.unchangedNames = unchangedNames
    }

    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(targetID: 0, count: 0)
        while try reader.next() {
            switch reader.field {
            case 1: targetID = try reader.int32()
            case 2: count = try reader.int32()
            case 3: unchangedNames = try reader.message()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(targetID, field: 1)
        writer.writeUnlessDefault(count, field: 2)
        writer.writeIfPresent(unchangedNames, field: 3)
    }
}
