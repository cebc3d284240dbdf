import DocumentModel
import FirestoreProtocol
import JSON
import Testing

/// The JSON of messages, compared with what the messages' own code reads and writes.
struct MessageJSONTests {
    @Test func aCommitMeansInJSONWhatItMeansOnTheWire() throws {
        let json = try JSON(
            parsing: #"""
                {"database": "projects/p/databases/(default)", "transaction": "_-8", "writes": [
                  {"update": {"name": "projects/p/databases/(default)/documents/a/b", "fields": {
                      "n": {"nullValue": null}, "i": {"integerValue": "9007199254740993"}, "j": {"integerValue": 7},
                      "d": {"doubleValue": "NaN"}, "t": {"timestampValue": "2026-11-28T12:00:00.5Z"},
                      "g": {"geoPointValue": {"latitude": 1.5}}, "m": {"mapValue": {}}, "b": {"bytesValue": "//8="},
                      "a": {"arrayValue": {"values": [{"stringValue": ""}, {"booleanValue": false}]}}}},
                   "updateMask": {"fieldPaths": ["n", "i"]}, "currentDocument": {"exists": true},
                   "updateTransforms": [{"fieldPath": "s", "setToServerValue": "REQUEST_TIME"},
                       {"fieldPath": "c", "increment": {"integerValue": "2"}}]},
                  {"delete": "projects/p/databases/(default)/documents/a/c"}]}
                """#)
        let request = try CommitRequest(decoding: try MessageJSON.encode(json, as: .commitRequest))
        let database = DatabaseName(project: "p")
        let first = Write(
            .update(
                try DocumentName(database: database, path: "a/b"),
                fields: [
                    "n": .null, "i": .integer(9_007_199_254_740_993), "j": .integer(7), "d": .double(.nan),
                    "t": .timestamp(Timestamp(microseconds: 1_795_867_200_500_000)),
                    "g": .geoPoint(GeoPoint(latitude: 1.5, longitude: 0)), "m": .map([:]), "b": .bytes([255, 255]),
                    "a": .array([.string(""), .boolean(false)]),
                ]),
            mask: [FieldPath(key: "n"), FieldPath(key: "i")],
            transforms: [
                FieldTransform(FieldPath(key: "s"), .serverTimestamp),
                FieldTransform(FieldPath(key: "c"), .increment(.integer(2))),
            ], precondition: .exists(true))
        #expect(request.writes == [first, Write(.delete(try DocumentName(database: database, path: "a/c")))])
        #expect(request.transaction == [255, 239])
    }

    @Test func aQueryMeansInJSONWhatItMeansOnTheWire() throws {
        let json = try JSON(
            parsing: #"""
                {"parent": "projects/p/databases/(default)/documents", "structuredQuery": {
                  "from": [{"collectionId": "tasks", "allDescendants": true}], "limit": 3, "offset": 1,
                  "where": {"compositeFilter": {"op": "AND", "filters": [
                    {"fieldFilter": {"field": {"fieldPath": "a.b"}, "op": "ARRAY_CONTAINS_ANY",
                        "value": {"arrayValue": {"values": [{"integerValue": "1"}]}}}},
                    {"unaryFilter": {"op": "IS_NOT_NULL", "field": {"fieldPath": "c"}}}]}},
                  "order_by": [{"field": {"fieldPath": "c"}, "direction": "DESCENDING"}],
                  "startAt": {"values": [{"stringValue": "x"}], "before": true}}}
                """#)
        let query = try RunQueryRequest(decoding: try MessageJSON.encode(json, as: .runQueryRequest)).query
        #expect(query.collectionID == "tasks" && query.allDescendants && query.limit == 3 && query.offset == 1)
        #expect(
            query.filter
                == .and([
                    .field(try FieldPath(parsing: "a.b"), .arrayContainsAny, .array([.integer(1)])),
                    .unary(FieldPath(key: "c"), .isNotNull),
                ]))
        #expect(query.orders == [Query.Order(FieldPath(key: "c"), descending: true)])
        #expect(query.start == Query.Cursor([.string("x")], before: true))
    }

    /// The writer of whole documents was written apart, so the two check each other.
    @Test func documentsAreWrittenAsByTheWriterOfDocuments() throws {
        let document = Document(
            name: try DocumentName(database: DatabaseName(project: "p"), path: "a/b"),
            fields: [
                "ü\"": .string("a\n"), "n": .null, "f": .boolean(false), "i": .integer(.min), "d": .double(-0.5),
                "inf": .double(-.infinity), "r": .reference("x"), "e": .bytes([]),
                "g": .geoPoint(GeoPoint(latitude: 1, longitude: -1)), "m": .map(["k": .map(["z": .integer(0)])]),
                "l": .array([.timestamp(Timestamp(microseconds: 1))]),
            ], createTime: Timestamp(microseconds: 1000), updateTime: Timestamp(microseconds: 2_000_000))
        let text = try MessageJSON.decode(EncodedDocument(document).encoded(), as: .document)
        #expect(try JSON(parsing: text) == JSON(parsing: RESTWriter.write(document)))
    }

    @Test func answersThatComeInPiecesAreOneArray() throws {
        let writer = try MessageJSON.decode(
            [0x1A, 0, 0x12, 1, 97, 0x0A, 0, 0x12, 1, 98], as: .listCollectionIDsResponse)
        #expect(String(decoding: writer, as: UTF8.self) == #"{"nextPageToken":"b","collectionIds":[""]}"#)
        let ids = try MessageJSON.decode([0x0A, 1, 97, 0x12, 1, 98, 0x0A, 1, 99], as: .listCollectionIDsResponse)
        #expect(String(decoding: ids, as: UTF8.self) == #"{"collectionIds":["a","c"],"nextPageToken":"b"}"#)
    }

    @Test(arguments: [
        (#"{"x": 1}"#, "\"x\""), (#"{"fields": {"a": {"integerValue": "1.5"}}}"#, "fields.integerValue"),
        (#"{"fields": {"a": {"integerValue": 1, "stringValue": ""}}}"#, "already set"),
        (#"{"fields": []}"#, "'fields'"), ("[]", "an object"),
        (#"{"fields": {"a": {"bytesValue": "a"}}}"#, "base64"),
        (#"{"fields": {"a": {"doubleValue": "1e999"}}}"#, "a number"),
        (#"{"fields": {"a": {"arrayValue": {"values": [{"timestampValue": "yesterday"}]}}}}"#, "values[0]"),
    ])
    func wrongMembersAreNamed(text: String, part: String) throws {
        let error = try #require(throws: ProtocolError.self) {
            try MessageJSON.encode(try JSON(parsing: text), as: .document)
        }
        #expect(error.description.contains(part))
    }

    @Test func queryStringsNameMembersOfMembers() throws {
        let object = try MessageJSON.object(
            query: [
                ("mask.fieldPaths", "a"), ("mask.fieldPaths", "b"), ("currentDocument.exists", "true"),
                ("key", "secret"),
            ], as: .updateDocumentRequest, ignoring: { $0 == "key" })
        #expect(
            JSON.object(object)
                == ["mask": ["fieldPaths": ["a", "b"]], "currentDocument": ["exists": true]])
        #expect(throws: ProtocolError.self) {
            try MessageJSON.object(query: [("mask.a", "b")], as: .updateDocumentRequest, ignoring: { _ in true })
        }
    }
}
