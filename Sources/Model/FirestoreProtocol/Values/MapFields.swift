import DocumentModel

/// The fields of type `map<string, Value>`, which are encoded as repeated entries {key = 1, value =
/// 2}.
///
/// Firestore compares keys by their bytes, a Swift dictionary by canonical equivalence ("é" as one
/// scalar or as two is one key). A map with two keys that differ only in this way is rejected,
/// because one of them would be lost silently. A key that occurs twice with the same bytes is
/// well-formed protobuf: the last value counts.
enum MapFields {
    /// Reads the entry at which the reader is into `fields`.
    static func readEntry(from reader: inout ProtobufReader, into fields: inout [String: Value]) throws(ProtocolError) {
        let (key, value) = try reader.nested(Value.self) { entry throws(ProtocolError) in
            var key = ""
            var value: Value?
            while try entry.next() {
                switch entry.field {
                case 1: key = try entry.string()
                case 2: value = try entry.message()
                default: try entry.skip()
                }
            }
            guard let value else {
                throw ProtocolError(.invalid, "Cannot convert firestore.v1.Value with type unset.")
            }
            return (key, value)
        }
        guard fields.updateValue(value, forKey: key) != nil, let index = fields.index(forKey: key) else { return }
        guard UTF8Order.areEqual(fields.keys[index], key) else {
            throw ProtocolError(
                .invalid, "Two field names of one map differ only in their Unicode form; use one form.")
        }
    }

    /// Reads the fields of the MapValue at which the reader is.
    static func read(fromMessage reader: inout ProtobufReader) throws(ProtocolError) -> [String: Value] {
        try reader.nested(Value.self) { map throws(ProtocolError) in
            var fields = [String: Value](minimumCapacity: map.count(of: 1))
            while try map.next() {
                if map.field == 1 {
                    try readEntry(from: &map, into: &fields)
                } else {
                    try map.skip()
                }
            }
            return fields
        }
    }

    /// Writes `fields` as entries of `field`, ordered by key.
    static func write(_ fields: [String: Value], field: Int, to writer: inout ProtobufWriter) {
        var places = fields.indices.map { (prefix: UTF8Order.prefix(fields.keys[$0]), index: $0) }
        places.sort {
            $0.prefix == $1.prefix
                ? UTF8Order.precedes(fields.keys[$0.index], fields.keys[$1.index]) : $0.prefix < $1.prefix
        }
        for (_, index) in places {
            let (key, value) = fields[index]
            writer.nested(field: field) { entry in
                entry.write(key, field: 1)
                entry.write(value, field: 2)
            }
        }
    }
}
