import DocumentModel
import Testing

@testable import FirestoreProtocol

@Suite struct GoldenTests {
    @Test func `there is a golden message of every type`() {
        #expect(GoldenMessage.all.count == 70)
        #expect(Set(GoldenMessage.all.map { "\($0.type)" }).count == 37)
    }

    @Test(arguments: GoldenMessage.all)
    func `messages of the official client are decoded and encoded again, byte for byte`(message: GoldenMessage) throws {
        #expect(try message.type.init(decoding: message.bytes).encoded() == message.bytes)
    }

    @Test(arguments: GoldenMessage.all)
    func `unknown fields of newer clients are tolerated`(message: GoldenMessage) throws {
        let unknown: [UInt8] = [0xa2, 0x7f, 3, 1, 2, 3, 0xa0, 0x7f, 1]
        #expect(try message.type.init(decoding: unknown + message.bytes).encoded() == message.bytes)
    }

    @Test(arguments: GoldenMessage.all)
    func `a message cut short is an error or a smaller message, never a trap`(message: GoldenMessage) {
        for count in message.bytes.indices { _ = try? message.type.init(decoding: Array(message.bytes[..<count])) }
    }
}

/// Tests that each field is decoded into the right property. Comparing bytes alone would not detect
/// two swapped fields.
@Suite struct GoldenContentTests {
    private let database = DatabaseName(project: "p")
    private let name: DocumentName
    private let small: EncodedDocument
    private let mask: [FieldPath]
    private let write: Write
    private let query: Query
    private let plain: Query
    private let readWrite = TransactionOptions.readWrite(retrying: Array("old".utf8), concurrencyMode: .pessimistic)
    private let readOnly = TransactionOptions.readOnly(readTime: Timestamp(microseconds: 5_000_000))
    private let token: [UInt8] = Array("t".utf8)
    private let result = WriteResult(
        updateTime: Timestamp(microseconds: 8_000_000), transformResults: [.integer(1), .null])
    private let status = RPCStatus(
        code: 5, message: "No", details: [AnyMessage(typeURL: "type.googleapis.com/x", value: Array("y".utf8))])

    init() throws {
        let f = FieldPath(key: "f")
        let g = FieldPath(key: "g")
        let i = FieldPath(key: "i")
        let l = FieldPath(key: "l")
        name = try DocumentName(database: database, path: "tasks/a")
        small = EncodedDocument(
            name: name, fields: EncodedFields(["f": .integer(1)]), createTime: Self.time(1), updateTime: Self.time(2))
        mask = [FieldPath(key: "a"), try FieldPath(["b", "c"]), FieldPath(key: "1")]
        write = Write(
            .update(name, fields: ["f": .integer(1)]), mask: mask,
            transforms: [
                FieldTransform(FieldPath(key: "t"), .serverTimestamp), FieldTransform(i, .increment(.integer(1))),
                FieldTransform(i, .maximum(.double(2))), FieldTransform(i, .minimum(.integer(3))),
                FieldTransform(l, .appendMissingElements([.integer(4)])),
                FieldTransform(l, .removeAllFromArray([.integer(5)])),
            ], precondition: .exists(true))
        let operators: [Query.FieldOperator] = [
            .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .equal, .notEqual, .arrayContains, .in,
            .arrayContainsAny, .notIn,
        ]
        let unary: [Query.UnaryOperator] = [.isNaN, .isNull, .isNotNaN, .isNotNull]
        let root = ParentName(database)
        query = Query(
            parent: root, collectionID: "tasks", allDescendants: true, projection: [f, .documentName],
            filter: .and([
                .or(operators.enumerated().map { .field(f, $1, .integer(Int64($0) + 1)) }),
                .or(unary.map { .unary(g, $0) }),
            ]), orders: [Query.Order(f, descending: true), Query.Order(g)],
            start: Query.Cursor([.integer(1)], before: true), end: Query.Cursor([.integer(2)], before: false),
            offset: 3,
            limit: 10,
            findNearest: Query.FindNearest(
                vectorField: FieldPath(key: "v"), queryVector: [1, 0.5], measure: .cosine, limit: 5,
                distanceResultField: FieldPath(key: "d"), distanceThreshold: 0.25))
        plain = Query(parent: root, collectionID: "tasks", limit: 0)
    }

    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

    private func expect<Message: ProtobufMessage & Equatable>(
        _ expected: Message, _ name: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let bytes = try #require(GoldenMessage.bytes(of: Message.self, name), sourceLocation: location)
        #expect(try Message(decoding: bytes) == expected, sourceLocation: location)
        #expect(expected.encoded() == bytes, sourceLocation: location)
    }

    @Test func `values and writes`() throws {
        try expect(Value.timestamp(Timestamp(microseconds: -1)), "timestamp")
        try expect(Value.geoPoint(GeoPoint(latitude: -90, longitude: 180)), "geoPoint")
        try expect(Value.bytes([0, 255]), "bytes")
        try expect(Value.reference(name.description), "reference")
        try expect(Value.double(-0.0), "negativeZero")
        try expect(write, "update")
        try expect(Write(.update(name, fields: [:]), mask: []), "touch")
        try expect(Write(.delete(name), precondition: .updateTime(Self.time(7))), "delete")
        try expect(result, "all")
        try expect(status, "all")
    }

    @Test func `document requests`() throws {
        try expect(GetDocumentRequest(name: name, mask: mask, consistency: .transaction(token)), "transaction")
        try expect(
            ListDocumentsRequest(
                parent: ParentName(database), collectionID: "tasks", pageSize: 2, pageToken: "t", orderBy: "a desc",
                mask: mask,
                consistency: .transaction(Array("x".utf8)), showMissing: true), "transaction")
        try expect(ListDocumentsRequest(parent: ParentName(name), consistency: .readTime(Self.time(1))), "readTime")
        try expect(
            ListDocumentsResponse(
                documents: [DocumentDraft(small), DocumentDraft(name: name.description)], nextPageToken: "n"), "all")
        try expect(
            CreateDocumentRequest(
                parent: ParentName(database), collectionID: "tasks", documentID: "a",
                document: DocumentDraft(fields: small.fields), mask: mask), "all")
        try expect(
            UpdateDocumentRequest(
                document: DocumentDraft(small), updateMask: mask, mask: [], precondition: .exists(true)), "all")
        try expect(DeleteDocumentRequest(name: name, precondition: .exists(true)), "all")
        try expect(
            BatchGetDocumentsRequest(
                database: database, documents: [name], mask: mask, consistency: .newTransaction(readOnly)),
            "newTransaction")
        try expect(
            BatchGetDocumentsResponse(result: .found(small), transaction: token, readTime: Self.time(9)), "found")
        try expect(BatchGetDocumentsResponse(result: .missing(name)), "missing")
        try expect(
            ListCollectionIDsRequest(parent: ParentName(name), pageSize: 1, pageToken: "t", readTime: Self.time(1)),
            "all")
        try expect(ListCollectionIDsResponse(collectionIDs: ["a", "b"], nextPageToken: "n"), "all")
    }

    @Test func `commits and the Write stream`() throws {
        let delete = Write(.delete(name), precondition: .updateTime(Self.time(7)))
        try expect(BeginTransactionRequest(database: database, options: readWrite), "all")
        try expect(CommitRequest(database: database, writes: [write, delete], transaction: token), "all")
        try expect(CommitResponse(writeResults: [result, result], commitTime: Self.time(8)), "all")
        try expect(
            WriteRequest(
                database: database, streamID: "s", writes: [write], streamToken: token, labels: ["a": "1", "b": "2"]),
            "all")
        try expect(
            WriteResponse(streamID: "s", streamToken: token, writeResults: [result], commitTime: Self.time(8)), "all")
        try expect(BatchWriteRequest(database: database, writes: [delete], labels: ["a": "1"]), "all")
        try expect(BatchWriteResponse(writeResults: [result], statuses: [status]), "all")
    }

    @Test func `queries`() throws {
        try expect(
            RunQueryRequest(query: query, consistency: .transaction(token), explain: ExplainOptions(analyze: true)),
            "transaction")
        var below = plain
        below.parent = ParentName(name)
        try expect(RunQueryRequest(query: below, consistency: .newTransaction(readWrite)), "newTransaction")
        try expect(RunQueryRequest(query: below, consistency: .readTime(Self.time(1))), "readTime")
        let facts: [String: StructValue] = [
            "b": .string("x"), "a": .list([.number(1.5), .null, .bool(true), .structure(["c": .bool(false)])]),
            "d": .structure([:]),
        ]
        let metrics = ExplainMetrics(
            indexesUsed: [facts],
            executionStats: ExecutionStats(
                resultsReturned: 1, executionDuration: DurationMessage(seconds: 1, nanos: 2), readOperations: 3,
                debugStats: facts))
        try expect(
            RunQueryResponse(
                document: small, transaction: token, readTime: Self.time(9), skippedResults: 2, done: true,
                explainMetrics: metrics), "all")
        let aggregations = [
            Query.Aggregation(alias: "c", .count(upTo: 9)), Query.Aggregation(alias: "", .count(upTo: nil)),
            Query.Aggregation(alias: "s", .sum(FieldPath(key: "f"))),
            Query.Aggregation(alias: "a", .average(FieldPath(key: "g"))),
        ]
        try expect(
            RunAggregationQueryRequest(
                query: plain, aggregations: aggregations, consistency: .newTransaction(readOnly),
                explain: ExplainOptions(analyze: true)), "newTransaction")
        try expect(
            RunAggregationQueryResponse(
                results: ["a": .null, "c": .integer(1)], transaction: token, readTime: Self.time(9),
                explainMetrics: metrics),
            "all")
        try expect(
            PartitionQueryRequest(query: plain, partitionCount: 4, pageToken: "t", pageSize: 2, readTime: Self.time(1)),
            "all")
        try expect(
            PartitionQueryResponse(
                partitions: [Query.Cursor([.reference(name.description)], before: false)], nextPageToken: "n"), "all")
    }

    @Test func `listening`() throws {
        let target = ListenTarget(
            .query(query), id: 2, resume: .token(Array("r".utf8)), once: true, expectedCount: 4)
        try expect(
            ListenRequest(database: database, change: .add(target), labels: ["goog-listen-tags": "limbo-document"]),
            "query")
        let documents = ListenTarget(.documents([name]), id: 3, resume: .readTime(Self.time(6)))
        try expect(ListenRequest(change: .add(documents)), "documents")
        try expect(ListenRequest(database: database, change: .remove(-1)), "remove")
        let change = TargetChange(
            kind: .remove, targetIDs: [1, 300], cause: status, resumeToken: Array("r".utf8), readTime: Self.time(9))
        try expect(ListenResponse.targetChange(change), "targetChange")
        try expect(
            ListenResponse.documentChange(DocumentChange(document: small, targetIDs: [1], removedTargetIDs: [2, 3])),
            "documentChange")
        try expect(
            ListenResponse.documentDelete(
                DocumentDelete(document: name, removedTargetIDs: [1], readTime: Self.time(9))),
            "documentDelete")
        try expect(
            ListenResponse.documentRemove(
                DocumentRemove(document: name, removedTargetIDs: [1], readTime: Self.time(9))),
            "documentRemove")
        let bloom = BloomFilter(bitmap: [1, 2], padding: 3, hashCount: 7)
        try expect(ListenResponse.filter(ExistenceFilter(targetID: 1, count: 2, unchangedNames: bloom)), "filter")
    }

    @Test func `a target that cannot be is refused alone, not with its stream`() throws {
        var writer = ProtobufWriter()
        writer.nested(field: 2) { target in
            target.nested(field: 3) { $0.write("projects/p/x", field: 2) }
            target.write(7 as Int32, field: 5)
        }
        let request = try ListenRequest(decoding: writer.finish())
        guard case .add(let target)? = request.change, case .invalid(let error) = target.content else {
            Issue.record("\(request)")
            return
        }
        #expect(target.id == 7 && error.description.contains("lacks \"databases\""))
    }

    @Test func `an empty resume token counts as none, an empty selection as everything`() throws {
        let target = try ListenTarget(decoding: [0x22, 0, 0x28, 1])
        #expect(target.resume == nil && target.id == 1)
        var writer = ProtobufWriter()
        writer.write(database.documentsRoot, field: 1)
        writer.nested(field: 2) { query in query.nested(field: 1) { _ in } }
        #expect(try RunQueryRequest(decoding: writer.finish()).query.projection == nil)
    }
}
