import DocumentModel
import Testing

@testable import FirestoreProtocol

@Suite struct EncodedFieldsTests {
    private let fields: [String: Value] = [
        "a": 1, "b": ["x": 1, "y": [1, 2]], "c": .null, "é": "e", "ab": false, "\u{1F600}": 2,
    ]

    @Test(arguments: [
        [], ["a"], ["a", "c", "no"], ["é", "b"], ["a", "b", "c", "d", "e", "f", "g", "h", "ab", "\u{1F600}"],
    ])
    func `some fields are decoded and the rest is skipped`(keys: [String]) throws {
        let wanted = Set(keys)
        #expect(try EncodedFields(fields).decoded(only: wanted) == fields.filter { wanted.contains($0.key) })
    }

    @Test(arguments: [["a", "é"], ["b.x", "c"], ["b.no"], ["__name__"], ["a.b"]])
    func `selected fields are the same, encoded or not`(texts: [String]) throws {
        let paths = try texts.map { text throws in try FieldPath(parsing: text == "é" ? "`é`" : text) }
        #expect(try EncodedFields(fields).selecting(paths) == EncodedFields(fields.selecting(paths)))
    }

    @Test func `a query judges an encoded document as it does the decoded one`() throws {
        let database = DatabaseName(project: "p")
        let filter = Query.Filter.field(try FieldPath(["b", "x"]), .greaterThan, 0)
        var query = Query(parent: ParentName(database), collectionID: "c", filter: filter)
        query.projection = [FieldPath(key: "a")]
        let plan = try QueryPlan(query)
        for (path, matches) in [("c/a", true), ("d/a", false)] {
            let document = Document(
                name: try DocumentName(database: database, path: path), fields: fields,
                createTime: Timestamp(microseconds: 1), updateTime: Timestamp(microseconds: 1))
            #expect(try plan.matches(EncodedDocument(document)) == matches)
            #expect(plan.matches(document) == matches)
            #expect(try plan.project(EncodedDocument(document)) == EncodedDocument(plan.project(document)))
        }
    }
}
