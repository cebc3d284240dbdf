import DocumentModel
import Foundation
import JSON
import Testing

@testable import FirestoreProtocol

@Suite struct RESTTests {
    @Test func `the official client's JSON is read, and ours says the same`() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/document.json")
        let json = try JSON(parsing: Array(try Data(contentsOf: path)))
        let document = try Document(decoding: try #require(GoldenMessage.bytes(of: Document.self, "all")))
        #expect(try RESTReader.document(json) == document)
        #expect(try RESTReader.document(try JSON(parsing: RESTWriter.write(document))) == document)
        let fields = try JSON(parsing: RESTWriter.write(document))["fields"]
        for (key, value) in try #require(json["fields"]?.objectValue)
        where !["emptyArray", "emptyMap", "negativeZero"].contains(key) {
            if key == "geoPoint" { continue }
            #expect(fields?[key] == value, "\(key)")
        }
    }

    @Test(
        arguments: [
            .null, .boolean(true), .integer(.min), .double(.nan), .double(-.infinity), .double(-0.0), .double(0.1),
            .double(1e300),
            .double(.leastNonzeroMagnitude), .double(5), .string("a\"\u{0}\n\u{2028}😀"), .bytes([]),
            .bytes([0, 255, 1]),
            .timestamp(.distantPast), .timestamp(Timestamp(microseconds: -1)),
            .timestamp(Timestamp(microseconds: 1_000)),
            .timestamp(Timestamp(microseconds: 253_402_300_799_999_999)),
            .geoPoint(GeoPoint(latitude: -0.5, longitude: 7)),
            .array([]), .array([.null, .map(["é": .array([.integer(1)])])]), .map([:]), .reference("projects/p"),
        ] as [Value])
    func `a value comes back as written`(value: Value) throws {
        #expect(try RESTReader.value(try JSON(parsing: RESTWriter.write(value))) == value)
    }

    @Test func `the deepest document that may be stored can be exported and imported`() throws {
        var value = Value.integer(1)
        for _ in 0..<10 { value = .array([.map(["k": value])]) }
        let json = try JSON(parsing: RESTWriter.write(value), depth: RESTReader.maximumDepth)
        #expect(try RESTReader.value(json) == value)
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T01:00:00.1234567+01:00", 123_456),
        ("1969-12-31t23:59:59.999999z", -1), ("2000-02-29T12:00:00-00:30", 951_827_400_000_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ])
    func `a time is read`(text: String, microseconds: Int64) {
        #expect(TimestampText.read(text) == Timestamp(microseconds: microseconds))
    }

    @Test func `a time is written in UTC with as many digits as proto3 has`() {
        #expect(TimestampText.write(Timestamp(microseconds: -1)) == "1969-12-31T23:59:59.999999Z")
        #expect(TimestampText.write(Timestamp(microseconds: 951_782_400_250_000)) == "2000-02-29T00:00:00.250Z")
        #expect(TimestampText.write(.distantPast) == "0001-01-01T00:00:00Z")
    }

    @Test(arguments: [
        "", "1970-01-01", "1970-01-01T00:00:00", "1970-02-30T00:00:00Z", "1970-13-01T00:00:00Z", "1970-01-01T24:00:00Z",
        "1970-01-01T00:00:60Z", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00Z ", "+1970-01-01T00:00:00Z",
        "0000-12-31T00:00:00Z", "0001-01-01T00:00:00+01:00", "1970-01-01T00:00:00+1:00",
    ])
    func `text that is not a time is rejected`(text: String) {
        #expect(TimestampText.read(text) == nil)
    }

    @Test(arguments: [
        "{}", "[]", "{\"stringValue\":1}", "{\"integerValue\":\"9223372036854775808\"}", "{\"integerValue\":1.5}",
        "{\"bytesValue\":\"%\"}", "{\"nullValue\":null,\"stringValue\":\"\"}", "{\"colour\":1}",
        "{\"arrayValue\":{\"values\":{}}}", "{\"mapValue\":{\"field\":{}}}", "{\"timestampValue\":\"today\"}",
    ])
    func `JSON that is not a value is rejected`(text: String) throws {
        let json = try JSON(parsing: text)
        #expect { try RESTReader.value(json) } throws: { ($0 as? ProtocolError)?.code == .invalid }
    }
}
