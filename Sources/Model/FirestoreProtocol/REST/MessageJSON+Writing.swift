import Cryptography
import DocumentModel
import JSON

extension MessageJSON {
    /// Returns the JSON of a message as one line of UTF-8.
    ///
    /// - Throws: `ProtocolError` for bytes that are not a message.
    package static func decode(_ bytes: [UInt8], as type: MessageType) throws(ProtocolError) -> [UInt8] {
        try bytes.read { (reader) throws(ProtocolError) in
            var text: [UInt8] = []
            try write(&reader, type.schema, to: &text)
            return text
        }
    }

    private static func write(
        _ reader: inout ProtobufReader, _ schema: MessageSchema, to text: inout [UInt8]
    ) throws(ProtocolError) {
        // The values of a repeated field need not follow each other, but its array comes once.
        var members: [(field: MessageSchema.Field, text: [UInt8])] = []
        while try reader.next() {
            guard let field = schema[reader.field] else {
                try reader.skip()
                continue
            }
            var index = members.count
            if let last = members.last, last.field.number == field.number {
                index -= 1
            } else if let found = members.firstIndex(where: { $0.field.number == field.number }) {
                index = found
            } else {
                members.append((field, []))
            }
            if field.cardinality == .single {
                members[index].text = []
            } else if !members[index].text.isEmpty {
                members[index].text.append(UInt8(ascii: ","))
            }
            if field.cardinality == .map {
                try writeEntry(&reader, field.type, to: &members[index].text)
            } else {
                try write(&reader, field.type, to: &members[index].text)
            }
        }
        text.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(json: member.field.name)
            text.append(UInt8(ascii: ":"))
            switch member.field.cardinality {
            case .single: text += member.text
            case .repeated: text += [UInt8(ascii: "[")] + member.text + [UInt8(ascii: "]")]
            case .map: text += [UInt8(ascii: "{")] + member.text + [UInt8(ascii: "}")]
            }
        }
        text.append(UInt8(ascii: "}"))
    }

    private static func writeEntry(
        _ reader: inout ProtobufReader, _ type: FieldType, to text: inout [UInt8]
    ) throws(ProtocolError) {
        let (key, value) = try reader.nested(String.self) { (entry) throws(ProtocolError) in
            var key = ""
            var value: [UInt8] = []
            while try entry.next() {
                switch entry.field {
                case 1: key = try entry.string()
                case 2:
                    value = []
                    try write(&entry, type, to: &value)
                default: try entry.skip()
                }
            }
            return (key, value)
        }
        text.append(json: key)
        text.append(UInt8(ascii: ":"))
        text += value.isEmpty ? Array("null".utf8) : value
    }

    private static func write(
        _ reader: inout ProtobufReader, _ type: FieldType, to text: inout [UInt8]
    ) throws(ProtocolError) {
        switch type {
        case .string: text.append(json: try reader.string())
        case .boolean: text += (try reader.bool() ? "true" : "false").utf8
        case .int32: text += "\(try reader.int32())".utf8
        case .int64: text += "\"\(try reader.int64())\"".utf8
        case .double: append(try reader.double(), to: &text)
        case .bytes: text += "\"\(Base64.encode(try reader.bytes()))\"".utf8
        case .null:
            try reader.skip()
            text += "null".utf8
        case .enumeration(let names):
            let number = Int(try reader.int32())
            if names.indices.contains(number) { text.append(json: names[number]) } else { text += "\(number)".utf8 }
        case .timestamp: text += "\"\(TimestampText.write(try reader.message(Timestamp.self)))\"".utf8
        case .duration: text.append(json: Self.text(of: try reader.message(DurationMessage.self)))
        case .int32Value: text += "\(try reader.message(Int32Value.self).value)".utf8
        case .int64Value: text += "\"\(try reader.message(Int64Value.self).value)\"".utf8
        case .doubleValue: append(try reader.message(DoubleValue.self).value, to: &text)
        case .structure: text += json(of: .structure(try reader.message(StructMessage.self).fields)).bytes
        case .message(let type):
            try reader.nested(Value.self) { (inner) throws(ProtocolError) in
                try write(&inner, type.schema, to: &text)
            }
        }
    }

    private static func append(_ number: Double, to text: inout [UInt8]) {
        switch number {
        case _ where number.isNaN: text += "\"NaN\"".utf8
        case .infinity: text += "\"Infinity\"".utf8
        case -.infinity: text += "\"-Infinity\"".utf8
        default: text += "\(number)".utf8
        }
    }

    private static func text(of duration: DurationMessage) -> String {
        let digits = String(duration.nanos.magnitude)
        let fraction = String(repeating: "0", count: max(0, 9 - digits.count)) + digits
        let sign = duration.seconds == 0 && duration.nanos < 0 ? "-" : ""
        return "\(sign)\(duration.seconds).\(fraction)s"
    }

    private static func json(of value: StructValue) -> JSON {
        switch value {
        case .null: .null
        case .number(let number): .number(number)
        case .string(let text): .string(text)
        case .bool(let flag): .boolean(flag)
        case .list(let values): .array(values.map { json(of: $0) })
        case .structure(let fields):
            .object(
                fields.sorted { UTF8Order.precedes($0.key, $1.key) }.reduce(into: JSONObject()) { object, field in
                    object[field.key] = json(of: field.value)
                })
        }
    }
}
