import DocumentModel

/// The fields of type `map<string, string>`, which are written in the order of the keys.
enum Labels {
    static func readEntry(from reader: inout ProtobufReader, into labels: inout [String: String]) throws(ProtocolError)
    {
        let (key, value) = try reader.nested(String.self) { entry throws(ProtocolError) in
            var key = ""
            var value = ""
            while try entry.next() {
                switch entry.field {
                case 1: key = try entry.string()
                case 2: value = try entry.string()
                default: try entry.skip()
                }
            }
            return (key, value)
        }
        labels[key] = value
    }

    static func write(_ labels: [String: String], field: Int, to writer: inout ProtobufWriter) {
        for (key, value) in labels.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            writer.nested(field: field) { entry in
                entry.write(key, field: 1)
                entry.write(value, field: 2)
            }
        }
    }
}
