import Testing

@testable import DocumentModel

@Suite struct NameTests {
    @Test func `a document's name is taken apart and put together`() throws {
        let text = "projects/p/databases/(default)/documents/tasks/a b/history/é"
        let name = try DocumentName(parsing: text)
        #expect(name.description == text)
        #expect(name.database == DatabaseName(project: "p"))
        #expect(name.id == "é" && name.collectionID == "history" && name.collectionPath == "tasks/a b/history")
        #expect(name.parent?.path == "tasks/a b" && name.parent?.parent == nil)
    }

    @Test func `a slash with a combining mark after it still separates`() throws {
        let name = try DocumentName(parsing: "projects/p/databases/d/documents/tasks/\u{301}x")
        #expect(name.collectionID == "tasks" && name.segments.count == 2)
    }

    @Test func `names that differ in Unicode form are different names`() throws {
        let composed = try DocumentName(parsing: "projects/p/databases/d/documents/c/\u{e9}")
        let decomposed = try DocumentName(parsing: "projects/p/databases/d/documents/c/e\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
    }

    @Test(arguments: [
        ("", "Document name \"\" lacks \"projects\" at index 0."),
        ("projects/p/x", "Document name \"projects/p/x\" lacks \"databases\" at index 2."),
        (
            "projects/p/databases/d/x/c/a",
            "Document name \"projects/p/databases/d/x/c/a\" lacks \"documents\" at index 4."
        ),
        ("projects/p/databases/d/documents/c", "Document name \"c\" lacks \"/\" at index 1."),
        ("projects/p/databases/d/documents/c/", "Resource id \"\" is invalid because it is empty."),
        ("projects/p/databases/d/documents/__c__/a", "Collection id \"__c__\" is invalid because it is reserved."),
        ("projects/p/databases/d/documents/c/..", "Resource id \"..\" is invalid."),
    ])
    func `the error of a malformed name says what it lacks`(text: String, message: String) {
        #expect(throws: NameError(message)) { try DocumentName(parsing: text) }
    }

    @Test func `ids have at most 1500 bytes, and four underscores are one`() throws {
        let database = DatabaseName(project: "p")
        _ = try DocumentName(database: database, collection: "____", id: String(repeating: "x", count: 1500))
        #expect(throws: NameError("The key path element name is longer than 1500 bytes.")) {
            try DocumentName(database: database, collection: "c", id: String(repeating: "x", count: 1501))
        }
        #expect(throws: NameError.self) { try DocumentName(database: database, collection: "c", id: "_____") }
    }

    @Test(arguments: [
        ("a", ["a"]), ("a.b_1", ["a", "b_1"]), ("`a.b`.c", ["a.b", "c"]), ("`bak\\`tik`", ["bak`tik"]),
        ("`\\\\`", ["\\"]),
        ("`1`", ["1"]), ("`é`", ["é"]),
    ])
    func `a field path is read and written back`(text: String, segments: [String]) throws {
        let path = try FieldPath(parsing: text)
        #expect(path.segments == segments && path.description == text)
    }

    @Test(arguments: ["", ".", "a.", ".a", "a..b", "1a", "a b", "`a", "``", "`a`b", "a`b`", "`a\\"])
    func `a malformed field path is refused`(text: String) {
        #expect(throws: NameError.self) { try FieldPath(parsing: text) }
    }
}
