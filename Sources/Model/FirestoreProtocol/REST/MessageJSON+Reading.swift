import Cryptography
import DocumentModel
package import JSON

/// Converts messages between proto3 JSON (https://protobuf.dev/programming-guides/json/) and the
/// wire format.
package enum MessageJSON {
    /// The maximum depth of the JSON of a request: 20 levels of values with three levels of JSON
    /// each, inside a write, inside a commit.
    package static let maximumDepth = 100

    /// Returns the wire format of a message.
    ///
    /// - Throws: `ProtocolError`, which names the first member that is unknown or has a wrong value.
    package static func encode(_ json: JSON, as type: MessageType) throws(ProtocolError) -> [UInt8] {
        var writer = ProtobufWriter()
        try encode(json, type.schema, "", to: &writer)
        return writer.finish()
    }

    /// Returns the JSON of a message whose members are those of a query string: `mask.fieldPaths`
    /// stands for a member of a member.
    ///
    /// - Parameter isIgnored: Whether an item that is no member is left out rather than refused.
    package static func object(
        query: [(name: String, value: String)], as type: MessageType, ignoring isIgnored: (String) -> Bool
    ) throws(ProtocolError) -> JSONObject {
        var object = JSONObject()
        for (name, value) in query {
            let path = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard let first = path.first, type.schema[first] != nil || !isIgnored(name) else { continue }
            try insert(value, at: path[...], type.schema, name, into: &object)
        }
        return object
    }

    private static func insert(
        _ text: String, at path: ArraySlice<String>, _ schema: MessageSchema, _ name: String,
        into object: inout JSONObject
    ) throws(ProtocolError) {
        guard let first = path.first, let field = schema[first] else { throw unknown(name, in: "") }
        if case .message(let inner) = field.type, field.cardinality == .single, path.count > 1 {
            var members = object[field.name]?.objectValue ?? JSONObject()
            try insert(text, at: path.dropFirst(), inner.schema, name, into: &members)
            object[field.name] = .object(members)
            return
        }
        guard path.count == 1 else { throw unknown(name, in: "") }
        var value = JSON.string(text)
        if case .boolean = field.type, text == "true" || text == "false" { value = .boolean(text == "true") }
        switch field.cardinality {
        case .single: object[field.name] = value
        case .repeated: object[field.name] = .array((object[field.name]?.arrayValue ?? []) + [value])
        case .map: throw unknown(name, in: "")
        }
    }

    private static func encode(
        _ json: JSON, _ schema: MessageSchema, _ path: String, to writer: inout ProtobufWriter
    ) throws(ProtocolError) {
        guard let object = json.objectValue else { throw wrong(path, "an object") }
        var chosen: [String] = []
        for (name, value) in object.members {
            guard let field = schema[name] else { throw unknown(name, in: path) }
            let path = path.isEmpty ? field.name : "\(path).\(field.name)"
            // A null stands for an absent member, except where null is the value.
            if case .null = field.type {} else if value.isNull { continue }
            if let choice = field.choice {
                guard !chosen.contains(choice) else {
                    throw ProtocolError(
                        .invalid,
                        "Invalid value at '\(path)': oneof field '\(choice)' is already set. Set one of its members.")
                }
                chosen.append(choice)
            }
            switch field.cardinality {
            case .single: try encode(value, field, path, to: &writer)
            case .repeated:
                guard let elements = value.arrayValue else { throw wrong(path, "an array") }
                for (index, element) in elements.enumerated() {
                    try encode(element, field, "\(path)[\(index)]", to: &writer)
                }
            case .map:
                guard let entries = value.objectValue else { throw wrong(path, "an object") }
                for (key, value) in entries.members {
                    try writer.nested(field: field.number) { (entry) throws(ProtocolError) in
                        entry.write(key, field: 1)
                        try encode(value, .one("value", 2, field.type), path, to: &entry)
                    }
                }
            }
        }
    }

    private static func encode(
        _ value: JSON, _ field: MessageSchema.Field, _ path: String, to writer: inout ProtobufWriter
    ) throws(ProtocolError) {
        let number = field.number
        switch field.type {
        case .string:
            guard let text = value.stringValue else { throw wrong(path, "a string") }
            writer.write(text, field: number)
        case .boolean:
            guard let flag = value.booleanValue else { throw wrong(path, "true or false") }
            writer.write(flag, field: number)
        case .int32: writer.write(try int32(value, path), field: number)
        case .int64: writer.write(try int64(value, path), field: number)
        case .double: writer.write(try double(value, path), field: number)
        case .bytes:
            guard let text = value.stringValue, let bytes = bytes(text) else { throw wrong(path, "base64") }
            writer.write(bytes, field: number)
        case .null:
            // Parsers accept an enum's name and number, too.
            guard value.isNull || value == "NULL_VALUE" || value == 0 else { throw wrong(path, "null") }
            writer.write(0 as Int32, field: number)
        case .enumeration(let names):
            let named = value.stringValue.flatMap { $0.isEmpty ? nil : names.firstIndex(of: $0) }
            guard let index = named.map(Int64.init) ?? value.integerValue, let index = Int32(exactly: index) else {
                throw wrong(path, "one of \(names.filter { !$0.isEmpty }.joined(separator: ", "))")
            }
            writer.write(index, field: number)
        case .timestamp:
            guard let time = value.stringValue.flatMap(TimestampText.read) else {
                throw wrong(path, "a time in RFC 3339, such as 2026-11-30T17:00:00Z")
            }
            writer.write(time, field: number)
        case .int32Value: writer.write(Int32Value(try int32(value, path)), field: number)
        case .int64Value: writer.write(Int64Value(try int64(value, path)), field: number)
        case .doubleValue: writer.write(DoubleValue(try double(value, path)), field: number)
        case .message(let type):
            try writer.nested(field: number) { (inner) throws(ProtocolError) in
                try encode(value, type.schema, path, to: &inner)
            }
        // Only answers have these.
        case .duration, .structure: throw unknown(field.name, in: path)
        }
    }

    // MARK: Scalars

    private static func int64(_ json: JSON, _ path: String) throws(ProtocolError) -> Int64 {
        guard let number = json.stringValue.flatMap({ Int64($0) }) ?? json.integerValue else {
            throw wrong(path, "a 64-bit integer")
        }
        return number
    }

    private static func int32(_ json: JSON, _ path: String) throws(ProtocolError) -> Int32 {
        guard let number = Int32(exactly: try int64(json, path)) else { throw wrong(path, "a 32-bit integer") }
        return number
    }

    private static func double(_ json: JSON, _ path: String) throws(ProtocolError) -> Double {
        switch json {
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        default:
            let number = json.doubleValue ?? json.stringValue.flatMap { Double($0) }
            guard let number, number.isFinite else { throw wrong(path, "a number, NaN, Infinity or -Infinity") }
            return number
        }
    }

    /// Decodes base64 in either alphabet, with or without padding, as the format requires.
    private static func bytes(_ text: String) -> [UInt8]? {
        let unpadded = text.prefix { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        guard text.utf8.count - unpadded.count <= 2, text.dropFirst(unpadded.count).allSatisfy({ $0 == "=" }) else {
            return nil
        }
        return Base64.decode(String(unpadded), alphabet: .url)
    }

    // MARK: Errors

    private static func wrong(_ path: String, _ wanted: String) -> ProtocolError {
        ProtocolError(.invalid, "Invalid value at '\(path.prefix(200))': it must be \(wanted).")
    }

    private static func unknown(_ name: String, in path: String) -> ProtocolError {
        let place = path.isEmpty ? "" : " at '\(path.prefix(200))'"
        return ProtocolError(
            .invalid, "Invalid JSON payload received. Unknown name \"\(name.prefix(100))\"\(place): Cannot find field.")
    }
}
