import DocumentModel

/// The message `google.protobuf.Value`: JSON as a message.
package indirect enum StructValue: Sendable, Hashable {
    case null
    case number(Double)
    case string(String)
    case bool(Bool)
    case structure([String: StructValue])
    case list([StructValue])
}

extension StructValue: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self = .null
        while try reader.next() {
            switch reader.field {
            case 1:
                try reader.skip()
                self = .null
            case 2: self = .number(try reader.double())
            case 3: self = .string(try reader.string())
            case 4: self = .bool(try reader.bool())
            case 5: self = .structure(try reader.message(StructMessage.self).fields)
            case 6: self = .list(try reader.message(ListMessage.self).values)
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch self {
        case .null: writer.write(0 as Int32, field: 1)
        case .number(let value): writer.write(value, field: 2)
        case .string(let value): writer.write(value, field: 3)
        case .bool(let value): writer.write(value, field: 4)
        case .structure(let fields): writer.write(StructMessage(fields: fields), field: 5)
        case .list(let values): writer.write(ListMessage(values: values), field: 6)
        }
    }
}

/// The message `google.protobuf.ListValue`.
private struct ListMessage: ProtobufMessage {
    var values: [StructValue]

    init(values: [StructValue]) { self.values = values }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        values = []
        while try reader.next() {
            if reader.field == 1 {
                values.append(try reader.message())
            } else {
                try reader.skip()
            }
        }
    }

    func encode(to writer: inout ProtobufWriter) { writer.writeEach(values, field: 1) }
}

/// The message `google.protobuf.Struct`.
struct StructMessage: ProtobufMessage {
    var fields: [String: StructValue]

    init(fields: [String: StructValue]) { self.fields = fields }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var fields: [String: StructValue] = [:]
        while try reader.next() {
            guard reader.field == 1 else {
                try reader.skip()
                continue
            }
            let (key, value) = try reader.nested(StructValue.self) { entry throws(ProtocolError) in
                var key = ""
                var value = StructValue.null
                while try entry.next() {
                    switch entry.field {
                    case 1: key = try entry.string()
                    case 2: value = try entry.message()
                    default: try entry.skip()
                    }
                }
                return (key, value)
            }
            fields[key] = value
        }
        self.fields = fields
    }

    func encode(to writer: inout ProtobufWriter) {
        for (key, value) in fields.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            writer.nested(field: 1) { entry in
                entry.write(key, field: 1)
                entry.write(value, field: 2)
            }
        }
    }
}
