import DocumentModel
import Testing

@testable import TaskModel

/// Front matter with references, anchors and merge keys of YAML.
@Suite("References of YAML")
struct ReferenceTests {
    private func read(_ head: String) throws -> TaskFile {
        let text = "---\n\(head)---\nnotes\n"
        let file = try TaskFile(parsing: Array(text.utf8), named: "Task.md")
        #expect(file.bytes == Array(text.utf8))
        return file
    }

    private func edit(_ head: String, _ change: (inout TaskItem) -> Void) throws -> String {
        let file = try read(head)
        var item = file.item
        change(&item)
        let result = try file.updated(to: item)
        #expect(result.item == item)
        let text = String(decoding: result.bytes, as: UTF8.self)
        return String(text.dropFirst(4).dropLast("---\nnotes\n".count))
    }

    private let head = """
        defaults: &home
          tags: &tags [home, "garden"]
          priority: low # for all
        <<: *home
        scheduled: &day 2026-11-30
        due: *day
        labels: *tags
        checks: {first: *day, own: &own 3, again: *own}
        local: [&here 1, *here]

        """

    @Test("The values are those that the references name")
    func values() throws {
        let item = try read(head).item
        #expect(item.due == Due(parsing: "2026-11-30"))
        #expect(item.tags == ["home", "garden"] && item.priority == .low)
        #expect(item.fields["labels"] == .array([.string("home"), .string("garden")]))
        let checks: [String: Value] = [
            "first": .string("2026-11-30"), "own": .integer(3), "again": .integer(3),
        ]
        #expect(item.fields["checks"] == .map(checks))
        #expect(item.fields["<<"] == nil)
        // Text that has all that it names stays as it is, and is understood.
        #expect(item.fields["local"] == .map(["$yaml": .string("[&here 1, *here]")]))
        let local = try #require(item.fields["local"])
        #expect(CustomValue.interpreted(local) == .array([.integer(1), .integer(1)]))
        #expect(item.misunderstoodKeys.isEmpty)
    }

    @Test("Own keys and earlier maps count more than merged ones")
    func merging() throws {
        let item = try read("a: &a {x: 1, y: 1}\nb: &b {<<: *a, y: 2, z: 2}\nz: 3\n<<: [*b, *a]\n").item
        #expect(item.fields["x"] == .integer(1) && item.fields["y"] == .integer(2) && item.fields["z"] == .integer(3))
        #expect(try read("<<: {x: 1}\n").item.fields["<<"] != nil)
    }

    @Test("A change of another key keeps the references")
    func otherKeys() throws {
        #expect(try edit(head) { $0.completed = true } == head + "completed: true\n")
        #expect(try edit(head) { $0.notes += "more\n" }.hasPrefix(head))
        #expect(
            try edit(head) { $0.fields["labels"] = .string("x") } == head.replacing("labels: *tags", with: "labels: x"))
        #expect(try edit(head) { $0.due = nil } == head.replacing("due: *day\n", with: ""))
        #expect(try edit("a: &a [x, w]\ntags: *a\n") { $0.tags.append("z") } == "a: &a [x, w]\ntags: [x, w, z]\n")
        // A merged key gets a value of its own.
        #expect(try edit(head) { $0.priority = .high } == head + "priority: high\n")
    }

    @Test("Where a reference would name nothing, or a merged key goes, the values are written out")
    func writtenOut() throws {
        let moved = try edit(head) { $0.fields["scheduled"] = .string("2026-12-01") }
        #expect(!moved.contains("*day") && moved.contains("scheduled: 2026-12-01\n"), "\(moved)")
        #expect(moved.contains("due: 2026-11-30\n") && moved.contains("# for all\n"), "\(moved)")
        #expect(try edit("a: &a {priority: low}\n<<: *a\n") { $0.priority = nil } == "a: &a {priority: low}\n")
        #expect(
            try edit("tags: &t [x]\nlabels: *t\n") { $0.tags.append("w") } == "tags: &t [x, w]\nlabels:\n  - x\n")
        #expect(try edit("{a: &a 1, b: *a}\n") { $0.completed = true } == "a: &a 1\nb: 1\ncompleted: true\n")
    }

    @Test("References that repeat too much, or name nothing, are refused")
    func bombs() throws {
        func problem(_ head: String) -> TaskFileProblem.Code? {
            do throws(TaskFileProblem) {
                _ = try TaskFile(parsing: Array("---\n\(head)---\n".utf8), named: "Task.md")
                return nil
            } catch { return error.code }
        }
        let laughs = (1...9).reduce("l0: &l0 [x, x, x]\n") { text, level in
            let names = Array(repeating: "*l\(level - 1)", count: 10).joined(separator: ", ")
            return text + "l\(level): &l\(level) [\(names)]\n"
        }
        #expect(problem(laughs) == .overLimit)
        let long = "a: &a \(String(repeating: "x", count: 10_000))\n"
        #expect(problem(long + "b: [\(Array(repeating: "*a", count: 5).joined(separator: ", "))]\n") == nil)
        #expect(problem(long + "b: [\(Array(repeating: "*a", count: 100).joined(separator: ", "))]\n") == .overLimit)
        let deep = (1...70).reduce("d0: &d0 [x]\n") { $0 + "d\($1): &d\($1) [*d\($1 - 1)]\n" }
        #expect(problem(deep) == .overLimit)
        #expect(problem("a: *b\n") == .malformedFrontMatter)
        #expect(problem("a: &a [*a]\n") == .malformedFrontMatter)
        #expect(problem("a: &a {<<: *a}\n") == .malformedFrontMatter)
    }
}
