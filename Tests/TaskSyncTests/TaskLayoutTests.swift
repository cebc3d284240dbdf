import DocumentModel
import TaskModel
import Testing

@testable import TaskSync

@Suite struct TaskLayoutTests {
    private let item = {
        var item = TaskItem(fields: ["title": .string("Milk"), "tags": .array([.string("new")])])
        item.notes = "Oat.\n"
        item.fields = ["color": .string("red")]
        return item
    }()

    /// What two machines have whose files were laid out differently before.
    private func files(_ head: String) throws -> [String] {
        try ["", "---\n# mine\ntags: [old]\n---\n"].map { old in
            let old = try TaskFile(parsing: Array(old.utf8), named: "Milk.md")
            let file = try TaskLayout.file(for: item, ["layout": .string(head)], named: "Milk.md", instead: old)
            return String(decoding: file.bytes, as: UTF8.self)
        }
    }

    @Test func `a head that two machines' edits were merged to has each key once`() throws {
        let head = "---\n# both\ntags:\n  - old\n  - older\ncolor: red\ntags: [new]\n---\n"
        let files = try files(head)
        #expect(files == Array(repeating: "---\n# both\ncolor: red\ntags: [new]\n---\nOat.\n", count: 2))
        let windows = try self.files(head.replacing("\n", with: "\r\n"))
        #expect(windows == Array(repeating: "---\r\n# both\r\ncolor: red\r\ntags: [new]\r\n---\r\nOat.\n", count: 2))
    }

    @Test func `a file that says what Ferry would is laid out as Ferry does, another one keeps its order`() throws {
        let texts = [
            "tags: [old]\ncompleted: true\n", "completed: true\ntags: [old]\n",
            "# mine\ncompleted: true\ntags: [old]\n",
        ]
        let files = try texts.map { text in
            let old = try TaskFile(parsing: Array("---\n\(text)---\nOat.\n".utf8), named: "Milk.md")
            let file = try TaskLayout.file(for: item, [:], named: "Milk.md", instead: old)
            return String(decoding: file.bytes, as: UTF8.self)
        }
        #expect(files[0] == files[1])
        #expect(files[2] == "---\n# mine\ntags: [new]\ncolor: red\n---\nOat.\n")
    }

    @Test func `a head that is no front matter gives the same file on each machine`() throws {
        let files = try files("---\n: [\n---\n")
        #expect(files == Array(repeating: "---\ntags: [new]\ncolor: red\n---\nOat.\n", count: 2))
    }
}
