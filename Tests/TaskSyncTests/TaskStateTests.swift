import DocumentModel
import Reconciliation
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// States of files and documents in one form.
@Suite struct TaskStateTests {
    private func file(_ text: String, _ name: String) throws -> TaskFile {
        try TaskFile(parsing: Array(text.utf8), named: name)
    }

    private func document(_ file: TaskFile, _ name: String) -> [String: Value] {
        FileImport.FileContents(file, named: name).fields
    }

    @Test(arguments: ["", "note\n", "---\npriority: high\ntags: [a, b]\n---\nnote\n", "---\n# kept\nown: 'x'\n---\n"])
    func `a file and the document that was made of it are equal`(_ text: String) throws {
        let file = try file(text, "A.md")
        let document = document(file, "A.md")
        let (local, remote) = (
            TaskState.state(of: file, named: "A.md", isNameChosen: false),
            TaskState.state(of: document, insteadOf: file)
        )
        #expect(local.name == remote.name)
        #expect(local.contents == remote.contents)
        #expect(local.contents.fields == remote.contents.fields)
    }

    @Test func `a document without a layout is equal to the file in whose layout it is`() throws {
        let file = try file("---\n# mine\npriority: high\n---\nnote\n", "A.md")
        var document = document(file, "A.md")
        document[TaskLayout.head] = nil
        let contents = TaskState.state(of: document, insteadOf: file).contents
        #expect(contents == TaskState.state(of: file, named: "A.md", isNameChosen: false).contents)
    }

    @Test func `the title that Ferry writes for the sake of a number is a name and no contents`() throws {
        let plain = TaskState.state(of: try file("note\n", "A.md"), named: "A.md", isNameChosen: nil)
        let numbered = try file("---\ntitle: A\n---\nnote\n", "A (2).md")
        let state = TaskState.state(of: numbered, named: "A (2).md", isNameChosen: nil)
        #expect(state.name == FileName("A"))
        #expect(state.contents == plain.contents)
    }

    @Test func `a name that a user chose besides the title is a name, and the title is contents`() throws {
        let file = try file("---\ntitle: AC/DC\n---\n", "Tickets.md")
        let local = TaskState.state(of: file, named: "Tickets.md", isNameChosen: nil)
        #expect(local.name == FileName("Tickets"))
        #expect(local.contents.fields["title"] == .string("AC/DC"))
        let remote = TaskState.state(of: document(file, "Tickets.md"), insteadOf: nil)
        #expect(remote.name == local.name)
        #expect(remote.contents == local.contents)
    }

    @Test func `different values have different digests`() {
        let fields: [[String: Value]] = [
            [:], ["a": .string("b")], ["ab": .string("")], ["a": .array([.string("b")])], ["a": .map(["b": .null])],
            ["a": .array([.string("b"), .string("c")])], ["a": .array([.string("bc")])], ["a": .integer(1)],
            ["a": .string("1")], ["a": .double(1)], ["a": .boolean(true)], ["a": .string("e\u{301}")],
            ["a": .string("\u{E9}")],
        ]
        #expect(Set(fields.map { TaskState.contents(of: $0).digest }).count == fields.count)
    }

    @Test func `a digest is read from hexadecimal text`() {
        let hex = "0123456789abcdef0123456789abcdef00000000000000010000000000000002"
        #expect(ContentDigest(hex: hex)?.description == hex)
        #expect(ContentDigest(hex: "0123") == nil)
        #expect(ContentDigest(hex: String(repeating: "x", count: 64)) == nil)
    }
}
