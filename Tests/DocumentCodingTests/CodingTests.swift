import DocumentModel
import FoundationEssentials
import Testing

@testable import DocumentCoding

private enum Level: String, Codable { case low, high }
private enum Shape: Codable, Equatable {
    case circle(Double)
    case point
}

private struct Everything: Codable, Equatable {
    struct Part: Codable, Equatable {
        var notes: String
        var due: Date?
    }
    var text: String
    var flag: Bool
    var count: Int
    var small: UInt8
    var ratio: Double
    var when: Date
    var bytes: Data
    var link: URL
    var id: UUID
    var price: Decimal
    var place: GeoPoint
    var exact: Timestamp
    var level: Level
    var shape: Shape
    var absent: String?
    var part: Part
    var parts: [Part]
    var tags: [String]
    var names: [String: Int]
    var holes: [Int?]
}

struct CodingTests {
    private let everything: Everything

    init() throws {
        everything = Everything(
            text: "é", flag: true, count: -3, small: 255, ratio: 0.5, when: Date(timeIntervalSince1970: 1.5),
            bytes: Data([1, 2]), link: try #require(URL(string: "https://example.org/a?b=c")),
            id: UUID(uuid: UUID().uuid),
            price: try #require(Decimal(string: "0.1")), place: GeoPoint(latitude: 1, longitude: 2),
            exact: Timestamp(microseconds: 1_234_567), level: .high, shape: .circle(2), absent: nil,
            part: .init(notes: "n", due: Date(timeIntervalSince1970: -0.000_001)), parts: [.init(notes: "m")],
            tags: ["a", "b"], names: ["x": 1], holes: [1, nil])
    }

    @Test func `all types survive a round trip`() throws {
        let encoded = try DocumentEncoder().encode(everything)
        #expect(try DocumentDecoder().decode(Everything.self, from: encoded.fields) == everything)
        #expect(encoded.fields["when"] == .timestamp(Timestamp(microseconds: 1_500_000)))
        #expect(encoded.fields["bytes"] == .bytes([1, 2]))
        #expect(encoded.fields["price"] == .string("0.1"))
        #expect(encoded.fields["place"] == .geoPoint(GeoPoint(latitude: 1, longitude: 2)))
        #expect(encoded.fields["holes"] == .array([.integer(1), .null]))
        #expect(encoded.fields["level"] == .string("high"))
        #expect(encoded.fields["absent"] == nil && encoded.fields.count == 19)
    }

    @Test(arguments: [-1, 0, 1, 1_700_000_000_123_456, 253_402_300_799_999_999, -62_135_596_800_000_000])
    func `a date keeps its microsecond near the present`(microseconds: Int64) throws {
        let time = Timestamp(microseconds: microseconds)
        let back = try #require(Timestamp(Date(time)))
        // Far from the present, a double has no room for microseconds.
        let tolerance: Int64 = abs(microseconds) > 4_000_000_000_000_000 ? 50 : 0
        #expect(abs(back.microseconds - microseconds) <= tolerance)
    }

    @Test func `what does not fit names the property`() throws {
        var fields = try DocumentEncoder().encode(everything).fields
        fields.setValue(.integer(3), at: ["part", "notes"])
        let error = #expect(throws: DecodingError.self) {
            try DocumentDecoder().decode(Everything.self, from: fields)
        }
        guard case .typeMismatch(_, let context)? = error else { throw try #require(error) }
        #expect(context.codingPath.propertyPath == "part.notes")
        #expect(context.debugDescription == "Expected a string, found an integer.")
    }

    @Test func `an element that does not fit is named by its index`() {
        struct Model: Codable { var dates: [Date] }
        let error = #expect(throws: DecodingError.self) {
            try DocumentDecoder().decode(
                Model.self, from: ["dates": .array([.timestamp(Timestamp(microseconds: 0)), .boolean(true)])])
        }
        guard case .typeMismatch(_, let context)? = error else { return #expect(Bool(false)) }
        #expect(context.codingPath.propertyPath == "dates[1]")
    }

    @Test func `numbers are exchanged only without loss`() throws {
        struct Model: Codable, Equatable { var whole: Int; var real: Double }
        let model = try DocumentDecoder().decode(Model.self, from: ["whole": .double(3), "real": .integer(4)])
        #expect(model == Model(whole: 3, real: 4))
        for bad in [Value.double(3.5), .double(.nan), .double(1e300), .string("3")] {
            #expect(throws: DecodingError.self) {
                try DocumentDecoder().decode(Model.self, from: ["whole": bad, "real": .integer(4)])
            }
        }
    }

    @Test func `what documents cannot hold is refused`() {
        struct Nested: Codable { var rows: [[Int]] }
        struct Huge: Codable { var number: UInt64 }
        struct Empty: Codable { var map: [String: Int] }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(Nested(rows: [[1]])) }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(Huge(number: .max)) }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(Empty(map: ["": 1])) }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode([1, 2]) }
        #expect(throws: EncodingError.self) {
            try DocumentEncoder().encode(["at": GeoPoint(latitude: 91, longitude: 0)])
        }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(["at": Date.distantFuture + 1e15]) }
    }
}
