import DocumentModel
import TaskModel
import Testing

@Suite struct TaskItemDocumentTests {
    private let full = TaskItem(
        title: "Ship 1.0", priority: .high, completed: true, due: Due(parsing: "2026-11-30"), tags: ["a", "b"],
        notes: "text\n", fields: ["x": .integer(1), "priority": .string("urgent")],
        attachments: [
            "1": TaskAttachment(
                name: "a.png", mimeType: "image/png", size: 3, sha256: "ab", manifest: "u/m",
                createdTime: Timestamp(microseconds: 1), modifiedTime: Timestamp(microseconds: -1), isExecutable: true)
        ],
        listId: "work", userId: UserID("u"), createdTime: Timestamp(microseconds: 1),
        updatedTime: Timestamp(microseconds: 2),
        completedTime: Timestamp(microseconds: 3), deletedTime: Timestamp(microseconds: 4))

    @Test func `a task comes back from its document`() {
        #expect(TaskItem(fields: full.documentFields) == full)
        let small = TaskItem(title: "x")
        #expect(small.documentFields == ["title": .string("x"), "completed": .boolean(false)])
        #expect(TaskItem(fields: small.documentFields) == small)
    }

    @Test func `a document may lack every field`() {
        #expect(TaskItem(fields: [:]) == TaskItem(title: ""))
    }

    @Test func `wrong types count as absent, similar types are converted`() {
        let wrong = Dictionary(
            uniqueKeysWithValues: [
                "title", "priority", "completed", "due", "dueHasTime", "tags", "notes", "fields",
                "attachments", "listId", "userId", "createdTime",
            ].map { ($0, Value.geoPoint(GeoPoint(latitude: 0, longitude: 0))) })
        #expect(TaskItem(fields: wrong) == TaskItem(title: ""))
        let near = TaskItem(fields: [
            "title": .integer(7), "priority": .double(1), "due": .string("2026-01-02"),
            "tags": .array([.string("a"), .null, .string("a")]),
            "createdTime": .string("1970-01-01T00:00:00Z"), "notes": .string("a\r\nb\u{0}"),
            "attachments": .map(["x": .map([:]), "y": .null]), "fields": .map([:]),
        ])
        #expect(near.title == "7")
        #expect(near.priority == .medium)
        #expect(near.due?.text == "2026-01-02")
        #expect(near.tags == ["a"])
        #expect(near.createdTime == Timestamp(microseconds: 0))
        #expect(near.notes == "a\r\nb\u{FFFD}")
        #expect(near.attachments == ["x": TaskAttachment(name: "")])
        #expect(TaskItem(fields: ["priority": .integer(9)]).priority == nil)
    }

    @Test(arguments: [
        "2026-11-30", "2026-11-30T17:00", "2026-11-30T17:00+01:00", "2026-11-30T16:00Z", "2026-11-30 17:00:00",
    ])
    func `a due time is stored as it was written`(text: String) {
        let item = TaskItem(title: "x", due: Due(parsing: text))
        #expect(item.due?.text == text)
        #expect(TaskItem(fields: item.documentFields) == item)
        #expect(item.fields["due"] == nil)
    }

    @Test func `an app that knows only due and dueHasTime can change it`() throws {
        var fields = TaskItem(title: "x", due: Due(parsing: "2026-11-30T17:00+01:00")).documentFields
        #expect(fields["fields"] == .map(["due": .string("2026-11-30T17:00+01:00")]))
        fields["due"] = .timestamp(try #require(Timestamp(rfc3339: "2026-12-01T09:00Z")))
        let changed = TaskItem(fields: fields)
        #expect(changed.due?.text == "2026-12-01T09:00Z")
        #expect(changed.fields == [:])
        fields["due"] = nil
        #expect(TaskItem(fields: fields).due == nil)
        #expect(TaskItem(fields: fields).fields == [:])
        fields["due"] = .timestamp(Timestamp(microseconds: 5))
        fields["dueHasTime"] = nil
        #expect(TaskItem(fields: fields).due?.hasTime == true)
    }

    @Test func `a custom value that a file would understand as the known key is dropped`() {
        let item = TaskItem(fields: [
            "fields": .map([
                "priority": .map(["$yaml": .string("high")]), "completed": .string("yes"), "title": .integer(3),
                "tags": .array([.string("a")]), "due": .string("soon"), "x": .null,
            ])
        ])
        #expect(item.fields == ["due": .string("soon"), "x": .null])
    }

    @Test func `equality sees the form of Unicode texts`() {
        #expect(TaskItem(title: "é") != TaskItem(title: "e\u{301}"))
        #expect(TaskItem(title: "x", tags: ["é"]) != TaskItem(title: "x", tags: ["e\u{301}"]))
    }

    @Test func `lists read leniently and come back`() {
        let list = TaskList(
            name: "Work", userId: UserID("u"), sharedWith: [UserID("v")], createdTime: Timestamp(microseconds: 1))
        #expect(TaskList(fields: list.documentFields) == list)
        #expect(TaskList(fields: ["name": .null, "sharedWith": .string("x")]) == TaskList(name: ""))
    }

    @Test(arguments: [
        (Value.integer(5), 5 as Int64?), (.integer(0), 0), (.double(7), 7),
        (.integer(TaskAttachment.sizeLimit), 640 << 30),
        (.integer(TaskAttachment.sizeLimit + 1), nil), (.integer(.max), nil), (.integer(.min), nil),
        (.integer(-1), nil),
        (.double(1.5), nil), (.double(.nan), nil), (.double(.infinity), nil), (.double(1e300), nil),
        (.string("5"), nil),
        (.boolean(true), nil), (.null, nil),
    ]) func `an impossible size counts as absent`(value: Value, size: Int64?) {
        #expect(TaskAttachment(.map(["name": .string("a"), "size": value]))?.size == size)
    }
}

@Suite struct TaskItemFieldsTests {
    private func source(_ item: TaskItem) throws -> String {
        String(decoding: try TaskFile.make(for: item, named: "T.md", writesTitle: false).bytes, as: UTF8.self)
    }

    @Test(arguments: [
        ("#f00", "\"#f00\""), ("a # c", "\"a # c\""), ("re: hello", "\"re: hello\""), ("3", "3"),
        ("00501", "\"00501\""),
        ("true", "true"), ("null", "\"null\""), ("[a, b]", "\"[a, b]\""), ("plain words", "plain words"),
        ("- x", "\"- x\""),
    ])
    func `a text is quoted as YAML needs, and reads back`(text: String, written: String) throws {
        var item = TaskItem(title: "T")
        try item.setField("x", toText: text)
        #expect(try source(item) == "---\nx: \(written)\n---\n")
        try item.setField("x", toText: "")
        #expect(item.fields.isEmpty)
    }

    @Test func `known keys take typed values, and odd names are quoted or refused`() throws {
        var item = TaskItem(title: "T")
        try item.setField("due", toText: "2026-12-01")
        try item.setField("priority", toText: "urgent")
        try item.setField("@ctx", toText: "home")
        #expect(
            item.due?.text == "2026-12-01" && item.fields["due"] == nil && item.fields["priority"] == .string("urgent"))
        #expect(try source(item).contains("\"@ctx\": home\n"))
        try item.setFields(sources: ["@ctx": "[1, 2]", "deep": "\n  a: 1", "priority": "low"])
        #expect(
            item.fields["@ctx"] == .map(["$yaml": .string("[1, 2]")]) && item.priority == .low
                && item.fields["priority"] == nil)
        #expect(item.fields["deep"] == .map(["a": .integer(1)]))
        item.fields["Tags"] = .string("work")
        #expect(item.nearKeys.map(\.key) == ["Tags"] && item.nearKeys.map(\.known) == ["tags"])
        for (key, text) in [("", "x"), ("__a__", "x")] {
            #expect(throws: TaskFileProblem.self) { try item.setField(key, toText: text) }
        }
        #expect(throws: TaskFileProblem.self) { try item.setFields(sources: ["x": "1\ntitle: evil"]) }
    }
}
