import DocumentModel
import Testing

@testable import FirestoreProtocol

@Suite struct ValueCodecTests {
    static let name = "projects/p/databases/(default)/documents/tasks/a"

    @Test(
        arguments: [
            .null, .boolean(false), .boolean(true), .integer(0), .integer(.min), .integer(.max), .double(0),
            .double(-0.0),
            .double(.nan), .double(.infinity), .double(.leastNonzeroMagnitude), .timestamp(Timestamp(microseconds: -1)),
            .timestamp(.distantPast), .string(""), .string("a\u{0}ü🚢"), .bytes([]), .bytes([0, 255]), .reference(name),
            .geoPoint(GeoPoint(latitude: 0, longitude: -0.0)), .geoPoint(GeoPoint(latitude: -90, longitude: 180)),
            .array([]), .array([.null, .array([]), .map(["": .null])]), .map([:]),
            .map(["b": .integer(1), "a": .map([:])]),
        ] as [Value])
    func `a value comes back as written`(value: Value) throws {
        #expect(try Value(decoding: value.encoded()) == value)
    }

    @Test func `null is written although it is the default`() {
        #expect(Value.null.encoded() == [0x58, 0x00])
    }

    @Test func `map keys are written in the order of their bytes`() {
        let sorted = [
            "", "a", "a\u{0}", "aa", "eight by", "eight by\u{0}", "eight byt", "eight bytes", "eight cy", "z", "é",
            "\u{FFFD}",
            "\u{1F600}",
        ]
        let keys = sorted.indices.map { sorted[$0 * 5 % sorted.count] }
        let value = Value.map(Dictionary(uniqueKeysWithValues: keys.map { ($0, .null) }))
        let again = Value.map(Dictionary(uniqueKeysWithValues: keys.reversed().map { ($0, .null) }))
        #expect(value.encoded() == again.encoded())
        var expected = ProtobufWriter()
        expected.nested(field: 6) { map in
            for key in sorted {
                map.nested(field: 1) { entry in
                    entry.write(key, field: 1)
                    entry.write([0x58, 0] as [UInt8], field: 2)
                }
            }
        }
        #expect(value.encoded() == expected.finish())
    }

    @Test func `two keys that differ only in Unicode form are refused, the same key twice is not`() throws {
        func map(_ keys: [String]) -> [UInt8] {
            var writer = ProtobufWriter()
            writer.nested(field: 6) { map in
                for (index, key) in keys.enumerated() {
                    map.nested(field: 1) { entry in
                        entry.write(key, field: 1)
                        entry.write(Value.integer(Int64(index)), field: 2)
                    }
                }
            }
            return writer.finish()
        }
        let error = #expect(throws: ProtocolError.self) { try Value(decoding: map(["\u{e9}", "e\u{301}"])) }
        #expect(error?.code == .invalid)
        #expect(error?.description.contains("Unicode form") == true)
        #expect(try Value(decoding: map(["a", "a"])) == .map(["a": .integer(1)]))
    }

    @Test func `a value without a type, a pipeline value and a bad time are invalid`() {
        for bytes: [UInt8] in [[], [0x9a, 0x01, 1, 0x61], [0x52, 8, 0x08, 1, 0x10, 0x80, 0x94, 0xeb, 0xdc, 0x03]] {
            #expect { try Value(decoding: bytes) } throws: { ($0 as? ProtocolError)?.code == .invalid }
        }
    }

    @Test func `a document's stored fields are spliced in without decoding`() throws {
        let fields: [String: Value] = [
            "title": .string("Milk"), "tags": .array([.string("home")]), "priority": .integer(1),
        ]
        let document = Document(
            name: try DocumentName(parsing: Self.name), fields: fields, createTime: Timestamp(microseconds: 1_000_001),
            updateTime: Timestamp(microseconds: 2_000_002))
        let encoded = EncodedDocument(document)
        #expect(encoded.encoded() == document.encoded())
        #expect(try Document(decoding: document.encoded()) == document)
        #expect(try EncodedDocument(decoding: document.encoded()) == encoded)
        #expect(try encoded.fields.decoded() == fields)
    }
}
