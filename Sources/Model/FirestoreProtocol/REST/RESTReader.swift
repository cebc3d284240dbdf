import Cryptography
package import DocumentModel
package import JSON

/// Parses documents in the REST form, proto3 JSON. Unknown members are rejected, because they would
/// be lost.
package enum RESTReader {
    /// The maximum depth of the JSON: each of the 20 levels of values takes three levels of JSON.
    package static let maximumDepth = 100

    /// Parses a document.
    ///
    /// - Throws: `ProtocolError` with the wrong member; also if the name or a time is missing.
    package static func document(_ json: JSON) throws(ProtocolError) -> Document {
        var name: DocumentName?
        var fields: [String: Value] = [:]
        var times: [String: Timestamp] = [:]
        for (key, member) in try object(json, of: "Document") {
            switch key {
            case "name": name = try DocumentName(message: try string(member, key))
            case "fields": fields = try Self.fields(member)
            case "createTime", "updateTime": times[key] = try timestamp(member, key)
            default: throw unknown(key, in: "Document")
            }
        }
        guard let name, let createTime = times["createTime"], let updateTime = times["updateTime"] else {
            throw ProtocolError(.invalid, "Document lacks name, createTime or updateTime.")
        }
        return Document(name: name, fields: fields, createTime: createTime, updateTime: updateTime)
    }

    /// Parses a value.
    package static func value(_ json: JSON) throws(ProtocolError) -> Value {
        let members = try object(json, of: "Value")
        guard members.count == 1, let (key, member) = members.first else {
            throw ProtocolError(.invalid, "A Value has one member, its type; this one has \(members.count).")
        }
        switch key {
        case "nullValue": return .null
        case "booleanValue":
            guard let value = member.booleanValue else { throw wrong(key, wants: "true or false") }
            return .boolean(value)
        case "integerValue":
            let number = member.stringValue.flatMap { Int64($0) } ?? member.integerValue
            guard let number else { throw wrong(key, wants: "a 64-bit integer, as a string") }
            return .integer(number)
        case "doubleValue": return .double(try double(member, key))
        case "timestampValue": return .timestamp(try timestamp(member, key))
        case "stringValue": return .string(try string(member, key))
        case "bytesValue":
            guard let bytes = Base64.decode(try string(member, key)) else { throw wrong(key, wants: "base64") }
            return .bytes(bytes)
        case "referenceValue": return .reference(try string(member, key))
        case "geoPointValue": return .geoPoint(try geoPoint(member))
        case "arrayValue": return .array(try array(member))
        case "mapValue":
            guard let inner = try only("fields", of: member, in: key) else { return .map([:]) }
            return .map(try fields(inner))
        default: throw unknown(key, in: "Value")
        }
    }

    // MARK: - Parts

    private static func fields(_ json: JSON) throws(ProtocolError) -> [String: Value] {
        let members = try object(json, of: "fields")
        var fields = [String: Value](minimumCapacity: members.count)
        for (key, member) in members { fields[key] = try value(member) }
        return fields
    }

    private static func array(_ json: JSON) throws(ProtocolError) -> [Value] {
        guard let inner = try only("values", of: json, in: "arrayValue") else { return [] }
        guard let elements = inner.arrayValue else { throw wrong("values", wants: "an array") }
        var values: [Value] = []
        for element in elements { values.append(try value(element)) }
        return values
    }

    private static func geoPoint(_ json: JSON) throws(ProtocolError) -> GeoPoint {
        var point = GeoPoint(latitude: 0, longitude: 0)
        for (key, member) in try object(json, of: "geoPointValue") {
            switch key {
            case "latitude": point.latitude = try double(member, key)
            case "longitude": point.longitude = try double(member, key)
            default: throw unknown(key, in: "geoPointValue")
            }
        }
        return point
    }

    private static func double(_ json: JSON, _ key: String) throws(ProtocolError) -> Double {
        switch json {
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        default:
            guard let number = json.doubleValue else { throw wrong(key, wants: "a number, NaN, Infinity or -Infinity") }
            return number
        }
    }

    private static func timestamp(_ json: JSON, _ key: String) throws(ProtocolError) -> Timestamp {
        guard let timestamp = TimestampText.read(try string(json, key)) else {
            throw wrong(key, wants: "a time in RFC 3339, such as 2026-11-30T17:00:00Z")
        }
        return timestamp
    }

    private static func string(_ json: JSON, _ key: String) throws(ProtocolError) -> String {
        guard let string = json.stringValue else { throw wrong(key, wants: "a string") }
        return string
    }

    private static func object(_ json: JSON, of name: String) throws(ProtocolError) -> [(key: String, value: JSON)] {
        guard let object = json.objectValue else { throw wrong(name, wants: "an object") }
        return object.members
    }

    private static func only(_ key: String, of json: JSON, in name: String) throws(ProtocolError) -> JSON? {
        let members = try object(json, of: name)
        guard let first = members.first else { return nil }
        guard members.count == 1, first.key == key else { throw unknown(first.key, in: name) }
        return first.value
    }

    private static func wrong(_ key: String, wants: String) -> ProtocolError {
        ProtocolError(.invalid, "\(key) must be \(wants).")
    }

    private static func unknown(_ key: String, in name: String) -> ProtocolError {
        ProtocolError(.invalid, "\(name) has the unknown member \"\(key.prefix(100))\".")
    }
}
