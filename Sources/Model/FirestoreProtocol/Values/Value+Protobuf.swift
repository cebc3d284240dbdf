package import DocumentModel

/// The message `google.firestore.v1.Value`, of which exactly one member is set. The members that
/// only pipelines may contain (19–22) are rejected.
extension Value: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        var value: Value?
        while try reader.next() {
            switch reader.field {
            case 1: value = .boolean(try reader.bool())
            case 2: value = .integer(try reader.int64())
            case 3: value = .double(try reader.double())
            case 5: value = .reference(try reader.string())
            case 6: value = .map(try MapFields.read(fromMessage: &reader))
            case 8: value = .geoPoint(try reader.message())
            case 9: value = .array(try reader.message(ArrayValue.self).values)
            case 10: value = .timestamp(try reader.message())
            case 11:
                try reader.skip()
                value = .null
            case 17: value = .string(try reader.string())
            case 18: value = .bytes(try reader.bytes())
            case 19, 20, 21, 22:
                throw ProtocolError(
                    .invalid, "Value.field_reference, function, pipeline and variable are only for pipelines.")
            default: try reader.skip()
            }
        }
        guard let value else {
            throw ProtocolError(.invalid, "Cannot convert firestore.v1.Value with type unset.")
        }
        self = value
    }

    package func encode(to writer: inout ProtobufWriter) {
        switch self {
        case .null: writer.write(0 as Int64, field: 11)
        case .boolean(let value): writer.write(value, field: 1)
        case .integer(let value): writer.write(value, field: 2)
        case .double(let value): writer.write(value, field: 3)
        case .timestamp(let value): writer.write(value, field: 10)
        case .string(let value): writer.write(value, field: 17)
        case .bytes(let value): writer.write(value, field: 18)
        case .reference(let value): writer.write(value, field: 5)
        case .geoPoint(let value): writer.write(value, field: 8)
        case .array(let values): writer.nested(field: 9) { $0.writeEach(values, field: 1) }
        case .map(let fields): writer.nested(field: 6) { MapFields.write(fields, field: 1, to: &$0) }
        }
    }
}

/// The message `google.firestore.v1.ArrayValue`.
struct ArrayValue: ProtobufMessage {
    var values: [Value]

    init(_ values: [Value]) { self.values = values }

    init(from reader: inout ProtobufReader) throws(ProtocolError) {
        values = []
        // An array that grew while it is read would take up to three times its size.
        var ahead = reader
        var count = 0
        while try ahead.next() {
            if ahead.field == 1 { count += 1 }
            try ahead.skip()
        }
        values.reserveCapacity(count)
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

/// The message `google.type.LatLng`.
extension GeoPoint: ProtobufMessage {
    package init(from reader: inout ProtobufReader) throws(ProtocolError) {
        self.init(latitude: 0, longitude: 0)
        while try reader.next() {
            switch reader.field {
            case 1: latitude = try reader.double()
            case 2: longitude = try reader.double()
            default: try reader.skip()
            }
        }
    }

    package func encode(to writer: inout ProtobufWriter) {
        writer.writeUnlessDefault(latitude, field: 1)
        writer.writeUnlessDefault(longitude, field: 2)
    }
}
