import DocumentModel
import Testing

@testable import FirestoreProtocol

@Suite struct WriteCodecTests {
    static let names = (try? DocumentName(parsing: ValueCodecTests.name)).map { [$0] } ?? []

    @Test(arguments: names)
    func `every kind of write comes back as written`(name: DocumentName) throws {
        let writes = [
            Write(.update(name, fields: ["a": .integer(1)])),
            Write(.update(name, fields: [:]), mask: []),
            Write(.update(name, fields: [:]), mask: [try FieldPath(["a", "b.c"])], precondition: .exists(true)),
            Write(.update(name, fields: [:]), precondition: .exists(false)),
            Write(.delete(name), precondition: .updateTime(Timestamp(microseconds: 5))),
            Write(.verify(name), precondition: .exists(false)),
            Write(
                .update(name, fields: [:]), mask: [],
                transforms: [
                    FieldTransform(FieldPath(key: "t"), .serverTimestamp),
                    FieldTransform(FieldPath(key: "i"), .increment(.integer(0))),
                    FieldTransform(FieldPath(key: "i"), .maximum(.double(1))),
                    FieldTransform(FieldPath(key: "i"), .minimum(.double(1))),
                    FieldTransform(FieldPath(key: "l"), .appendMissingElements([.null])),
                    FieldTransform(FieldPath(key: "l"), .removeAllFromArray([])),
                ]),
        ]
        for write in writes { #expect(try Write(decoding: write.encoded()) == write) }
    }

    @Test(arguments: names)
    func `a legacy transform is an update with an empty mask`(name: DocumentName) throws {
        var writer = ProtobufWriter()
        writer.nested(field: 6) { transform in
            transform.write(name.description, field: 1)
            transform.nested(field: 2) { field in
                field.write("t", field: 1)
                field.write(1 as Int32, field: 2)
            }
        }
        #expect(
            try Write(decoding: writer.finish())
                == Write(
                    .update(name, fields: [:]), mask: [],
                    transforms: [FieldTransform(FieldPath(key: "t"), .serverTimestamp)]))
    }

    @Test(arguments: names)
    func `a write that cannot be is refused with production's words`(name: DocumentName) {
        func message(_ body: (inout ProtobufWriter) -> Void) -> String? {
            var writer = ProtobufWriter()
            body(&writer)
            let bytes = writer.finish()
            let error = #expect(throws: ProtocolError.self) { try Write(decoding: bytes) }
            return error?.description
        }
        #expect(message { _ in } == "empty write operation")
        let masked = message { writer in
            writer.write(name.description, field: 2)
            writer.nested(field: 3) { _ in }
        }
        #expect(masked == "a delete must not specify a document mask.")
        let reserved = message { $0.write("projects/p/databases/d/documents/tasks/__x__", field: 2) }
        #expect(reserved == "Resource id \"__x__\" is invalid because it is reserved.")
    }

    @Test func `results come back as written`() throws {
        for result in [
            WriteResult(updateTime: nil),
            WriteResult(updateTime: Timestamp(microseconds: 7), transformResults: [.null]),
        ] { #expect(try WriteResult(decoding: result.encoded()) == result) }
    }
}
