import DocumentModel
import TaskModel
import Testing

@Suite struct TaskFileUpdateTests {
    private func edit(
        _ text: String, named name: String = "Task.md", writesTitle: Bool = false, _ change: (inout TaskItem) -> Void
    ) throws -> String {
        let file = try TaskFile(parsing: Array(text.utf8), named: name)
        var item = file.item
        change(&item)
        return String(decoding: try file.updated(to: item, writesTitle: writesTitle).bytes, as: UTF8.self)
    }

    private let sample = """
        ---
        # about this task
        title: "Code review PR #123" # in quotes
        status: open
        priority:   normal      # odd
        due: '2025-12-31'
        tags:
          - code-review  # first
          # between
          - 'dev'

        contexts: [ "@dev",  x ]
        timeEstimate: 45
        # the end
        ---

        # Code review

        """

    @Test func `nothing changes when nothing is changed`() throws {
        #expect(try edit(sample) { _ in } == sample)
    }

    @Test func `a scalar is replaced in its place and quotes`() throws {
        let result = try edit(sample) {
            $0.priority = .high
            $0.fields["priority"] = nil
            $0.due = Due(parsing: "2026-01-15T10:00+01:00")
            $0.title = "Review: it's #124"
        }
        let expected = sample.replacing("normal  ", with: "high  ").replacing(
            "2025-12-31", with: "2026-01-15T10:00+01:00"
        )
        .replacing("\"Code review PR #123\"", with: "\"Review: it's #124\"")
        #expect(result == expected)
    }

    @Test func `tags are added and removed by line`() throws {
        #expect(
            try edit(sample) { $0.tags = ["dev", "new: one"] }
                == sample.replacing("  - code-review  # first\n", with: "").replacing(
                    "  - 'dev'\n", with: "  - 'dev'\n  - \"new: one\"\n"))
        #expect(
            try edit(sample) { $0.tags = ["dev", "code-review"] }
                == sample.replacing(
                    "  - code-review  # first\n  # between\n  - 'dev'", with: "  - dev\n  - code-review"))
        #expect(
            try edit("---\ntags: [ a, 'b',  c ] # x\n---\n") { $0.tags = ["a", "c", "d, e"] }
                == "---\ntags: [ a, c, \"d, e\" ] # x\n---\n")
        #expect(try edit("---\ntags: [a, b, c]\n---\n") { $0.tags = ["b", "x"] } == "---\ntags: [b, x]\n---\n")
        #expect(try edit("---\ntags: [a, b, c]\n---\n") { $0.tags = ["a"] } == "---\ntags: [a]\n---\n")
        #expect(try edit("---\ntags: [a, b]\n---\n") { $0.tags = ["x"] } == "---\ntags: [x]\n---\n")
        #expect(try edit("---\ntags: a, b\n---\n") { $0.tags = ["a", "b", "c"] } == "---\ntags: [a, b, c]\n---\n")
        #expect(
            try edit("---\ntags: [\n  a, # one\n  b\n]\nx: 1\n---\n") { $0.tags = ["a", "c"] }
                == "---\ntags: [\n  a, c\n]\nx: 1\n---\n")
        #expect(
            try edit("---\r\ntags:\r\n- a\r\n---\r\n") { $0.tags = ["a", "b"] }
                == "---\r\ntags:\r\n- a\r\n- b\r\n---\r\n")
        #expect(try edit("---\ntags: []\n---\n") { $0.tags = ["a"] } == "---\ntags: [a]\n---\n")
        #expect(try edit("---\ntags: # mine\n---\n") { $0.tags = ["a"] } == "---\ntags: [a] # mine\n---\n")
    }

    @Test func `a key set back to its default loses its lines`() throws {
        let result = try edit(sample) {
            $0.due = nil
            $0.tags = []
            $0.fields["contexts"] = nil
        }
        #expect(
            result
                == sample.replacing("due: '2025-12-31'\n", with: "").replacing(
                    "tags:\n  - code-review  # first\n  # between\n  - 'dev'\n", with: ""
                ).replacing("contexts: [ \"@dev\",  x ]\n", with: ""))
    }

    @Test func `new keys come last`() throws {
        let result = try edit(sample) {
            $0.completed = true
            $0.fields["a list"] = .array([.string("x"), .integer(2)])
        }
        #expect(
            result
                == sample.replacing(
                    "# the end\n", with: "# the end\ncompleted: true\na list:\n  - x\n  - 2\n"))
    }

    @Test func `custom values change between lines and one line`() throws {
        let text = "---\na: 1 # one\nb:\n  # inner\n  - x\nc: |\n  text\nd:\ne: 'q'\n---\n"
        let result = try edit(text) {
            $0.fields["a"] = .array([.string("p")])
            $0.fields["b"] = .string("flat")
            $0.fields["c"] = .map(["k": .boolean(true)])
            $0.fields["d"] = .array([.null])
            $0.fields["e"] = .null
        }
        #expect(
            result
                == "---\na: # one\n  - p\nb: flat\n  # inner\nc:\n  k: true\nd:\n  -\ne:\n---\n")
    }

    @Test func `carriage returns stay whole where a value moves to other lines`() throws {
        let text = "---\r\na: 1 # c\r\nb:\r\n  - x\r\nd:\r\n---\r\n"
        let result = try edit(text) {
            $0.fields["a"] = .array([.integer(1)])
            $0.fields["b"] = .integer(2)
            $0.fields["d"] = .map(["k": .integer(3)])
        }
        #expect(result == "---\r\na: # c\r\n  - 1\r\nb: 2\r\nd:\r\n  k: 3\r\n---\r\n")
        let literal = try edit(text) { $0.fields["a"] = .map(["$yaml": .string("|\n  one\n  two")]) }
        #expect(literal == "---\r\n# c\r\na: |\r\n  one\r\n  two\r\nb:\r\n  - x\r\nd:\r\n---\r\n")
    }

    @Test func `source text that parses as the value is kept`() throws {
        let item = TaskItem(title: "T", fields: ["k": .map(["$yaml": .string("plain")])])
        let file = try TaskFile.make(for: item, named: "T.md", writesTitle: false)
        #expect(String(decoding: file.bytes, as: UTF8.self) == "---\nk: plain\n---\n")
    }

    @Test func `source text comes back as written, also at another indentation and with other line ends`() throws {
        let there = try TaskFile(
            parsing: Array("---\r\n  k:\r\n    b: 1 # c\r\n    a:\r\n    - 'x'\r\n  q: \"y\"\r\n---\r\n".utf8),
            named: "T.md")
        let here = try TaskFile.make(for: there.item, named: "T.md", writesTitle: false)
        #expect(String(decoding: here.bytes, as: UTF8.self) == "---\nk:\n  b: 1 # c\n  a:\n  - 'x'\nq: \"y\"\n---\n")
        #expect(here.item == there.item)
        let back = try TaskFile(parsing: Array("---\r\n  z: 1\r\n---\r\n".utf8), named: "T.md").updated(to: there.item)
        #expect(
            String(decoding: back.bytes, as: UTF8.self)
                == "---\r\n  k:\r\n    b: 1 # c\r\n    a:\r\n    - 'x'\r\n  q: \"y\"\r\n---\r\n")
    }

    @Test(arguments: [
        "x\ntitle: evil", "x\n---\nbody", "[a", "'a", "*a", "&x y", "\n- a\nb: 1", "\n  a: 1\n b: 2", "a\rb", "# gone",
        "|",
        "a: b", "\n", "", "\n  - a\n...\n",
    ])
    func `source text that is not one value is never written as such`(source: String) throws {
        let item = TaskItem(title: "T", fields: ["k": .map(["$yaml": .string(source)]), "z": .integer(1)])
        let file = try TaskFile.make(for: item, named: "T.md", writesTitle: false)
        #expect(file.item.title == "T")
        #expect(file.item.notes == "")
        #expect(Set(file.item.fields.keys) == ["k", "z"])
        let again = try file.updated(to: item)
        #expect(again.bytes == file.bytes)
    }

    @Test func `front matter is made where there is none`() throws {
        #expect(try edit("Body\r\n") { $0.priority = .low } == "---\r\npriority: low\r\n---\r\nBody\r\n")
        #expect(try edit("\u{FEFF}Body") { $0.tags = ["a"] } == "\u{FEFF}---\ntags: [a]\n---\nBody")
        #expect(try edit("") { $0.completed = true } == "---\ncompleted: true\n---\n")
        #expect(try edit("---\n---\n") { $0.completed = true } == "---\ncompleted: true\n---\n")
        #expect(try edit("---\n# c\n---") { $0.completed = true } == "---\n# c\ncompleted: true\n---")
    }

    @Test func `front matter in braces becomes lines when it changes`() throws {
        let text = "---\n{title: x, priority: high, k: [1, {a: b}]}\n---\nBody"
        #expect(try edit(text) { $0.notes = "New" } == text.replacing("Body", with: "New"))
        #expect(
            try edit(text) { $0.priority = .low } == "---\npriority: low\ntitle: x\nk: [1, {a: b}]\n---\nBody")
    }

    @Test func `the title key is written where the name cannot carry the title, and kept true`() throws {
        #expect(try edit("---\ndue: 2026-01-01\n---\n") { $0.title = "New" } == "---\ndue: 2026-01-01\n---\n")
        #expect(
            try edit("x", writesTitle: true) { $0.title = "AC/DC" } == "---\ntitle: AC/DC\n---\nx")
        #expect(try edit("---\ntitle: Old\n---\n") { $0.title = "no" } == "---\ntitle: \"no\"\n---\n")
    }

    @Test func `the notes of a file are bytes`() throws {
        #expect(try edit("a\r\nb\nc\r\nd") { $0.notes = "a\nb\rB\r\nd" } == "a\nb\rB\r\nd")
        #expect(try edit("a\nb") { $0.notes = "a\nb\n" } == "a\nb\n")
        #expect(try edit("---\na: 1\n---") { $0.notes = "text" } == "---\na: 1\n---\ntext")
        #expect(try edit("text") { $0.notes = "" } == "")
        #expect(try edit("a\na\na\n") { $0.notes = "a\na\n" } == "a\na\n")
    }

    @Test func `a text of a command changes only the lines that differ, and takes over the notes' line endings`() {
        func notes(_ old: String, _ new: String) -> String { NotesEditor.notes(old, changedTo: new) }
        #expect(notes("a\r\nb\nc\r\nd", "a\nb\nB\nd") == "a\r\nb\nB\r\nd")
        #expect(notes("a\r\na\r\n", "a\na\na\n") == "a\r\na\r\na\r\n")
        #expect(notes("a\r\r\nb\r\n", "a\nc\r\n") == "a\nc\r\n")
        #expect(notes("a\nb\n", "a\r\n") == "a\r\n" && notes("", "x\n") == "x\n" && notes("a\r\n", "") == "")
    }

    @Test func `front matter that is made for notes ends its lines as they do`() throws {
        let item = TaskItem(title: "T", priority: .low, notes: "a\r\nb\r\n")
        let file = try TaskFile.make(for: item, named: "T.md", writesTitle: false)
        #expect(String(decoding: file.bytes, as: UTF8.self) == "---\r\npriority: low\r\n---\r\na\r\nb\r\n")
    }

    @Test(arguments: ["---\nx: 1\n---\nbody", "---", "--- \r\n", "\u{FEFF}x"])
    func `notes that look like front matter stay notes`(notes: String) throws {
        let file = try TaskFile.make(for: TaskItem(title: "T", notes: notes), named: "T.md", writesTitle: false)
        let fence = notes.utf8.contains(0x0D) ? "---\r\n" : "---\n"
        #expect(file.bytes.starts(with: Array((fence + fence).utf8)))
        #expect(file.item.notes == notes)
        #expect(file.item.fields.isEmpty)
    }

    @Test func `values that YAML has no type for are approximated once`() throws {
        let fields: [String: Value] = [
            "at": .timestamp(Timestamp(microseconds: 0)), "raw": .bytes([0, 255]),
            "where": .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
            "ref": .reference("projects/p"), "inf": .double(-.infinity), "nan": .double(.nan), "": .integer(1),
            "__x__": .integer(2),
        ]
        let item = TaskItem(title: "T", fields: fields)
        let file = try TaskFile.make(for: item, named: "T.md", writesTitle: false)
        #expect(file.item.fields["at"] == .string("1970-01-01T00:00:00Z"))
        #expect(file.item.fields["raw"] == .string("00ff"))
        #expect(file.item.fields["where"] == .array([.double(1), .double(2)]))
        #expect(file.item.fields["inf"] == .double(-.infinity))
        #expect(file.item.fields["nan"] == .double(.nan))
        #expect(file.item.fields.count == 6)
        #expect(try file.updated(to: item).bytes == file.bytes)
    }

    @Test func `a typed value beats a custom one of the same name`() throws {
        let item = TaskItem(title: "T", priority: .high, fields: ["priority": .string("normal")])
        let file = try TaskFile.make(for: item, named: "T.md", writesTitle: false)
        #expect(String(decoding: file.bytes, as: UTF8.self) == "---\npriority: high\n---\n")
    }

    @Test func `a task that no file may hold is refused`() {
        let long = TaskItem(title: "T", notes: String(repeating: "x", count: TaskFile.maximumBytes + 1))
        #expect(throws: TaskFileProblem.self) { try TaskFile.make(for: long, named: "T.md", writesTitle: false) }
    }
}
