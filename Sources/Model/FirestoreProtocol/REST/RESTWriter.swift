import Cryptography
package import DocumentModel
import JSON

/// Writes documents in the REST form, proto3 JSON: int64 as a string, bytes in base64, times in RFC
/// 3339, special doubles by name.
package enum RESTWriter {
    /// Returns the document as one line of UTF-8 without a line break. Maps are in the order of
    /// their keys.
    package static func write(_ document: Document) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes += "{\"name\":".utf8
        append(document.name.description, to: &bytes)
        bytes += ",\"fields\":".utf8
        append(document.fields, to: &bytes)
        bytes += ",\"createTime\":\"\(TimestampText.write(document.createTime))\"".utf8
        bytes += ",\"updateTime\":\"\(TimestampText.write(document.updateTime))\"}".utf8
        return bytes
    }

    /// Returns the value as one line of UTF-8.
    package static func write(_ value: Value) -> [UInt8] {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return bytes
    }

    private static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes += "{\"nullValue\":null}".utf8
        case .boolean(let value): bytes += "{\"booleanValue\":\(value)}".utf8
        case .integer(let value): bytes += "{\"integerValue\":\"\(value)\"}".utf8
        case .double(let value):
            bytes += "{\"doubleValue\":".utf8
            append(value, to: &bytes)
            bytes += "}".utf8
        case .timestamp(let value): bytes += "{\"timestampValue\":\"\(TimestampText.write(value))\"}".utf8
        case .string(let value):
            bytes += "{\"stringValue\":".utf8
            append(value, to: &bytes)
            bytes += "}".utf8
        case .bytes(let value): bytes += "{\"bytesValue\":\"\(Base64.encode(value))\"}".utf8
        case .reference(let value):
            bytes += "{\"referenceValue\":".utf8
            append(value, to: &bytes)
            bytes += "}".utf8
        case .geoPoint(let point):
            bytes += "{\"geoPointValue\":{\"latitude\":".utf8
            append(point.latitude, to: &bytes)
            bytes += ",\"longitude\":".utf8
            append(point.longitude, to: &bytes)
            bytes += "}}".utf8
        case .array(let elements):
            bytes += "{\"arrayValue\":{\"values\":[".utf8
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes += ",".utf8 }
                append(element, to: &bytes)
            }
            bytes += "]}}".utf8
        case .map(let fields):
            bytes += "{\"mapValue\":{\"fields\":".utf8
            append(fields, to: &bytes)
            bytes += "}}".utf8
        }
    }

    private static func append(_ fields: [String: Value], to bytes: inout [UInt8]) {
        bytes += "{".utf8
        for (index, field) in fields.sorted(by: { UTF8Order.precedes($0.key, $1.key) }).enumerated() {
            if index > 0 { bytes += ",".utf8 }
            append(field.key, to: &bytes)
            bytes += ":".utf8
            append(field.value, to: &bytes)
        }
        bytes += "}".utf8
    }

    private static func append(_ string: String, to bytes: inout [UInt8]) { bytes += JSON.string(string).bytes }

    private static func append(_ double: Double, to bytes: inout [UInt8]) {
        let text =
            if double.isNaN {
                "\"NaN\""
            } else if double.isInfinite {
                double < 0 ? "\"-Infinity\"" : "\"Infinity\""
            } else {
                // Swift's shortest description of a double that parses to the same value is valid
                // JSON: it always has digits on both sides of the point.
                "\(double)"
            }
        bytes += text.utf8
    }
}
