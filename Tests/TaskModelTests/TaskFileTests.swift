import DocumentModel
import TaskModel
import Testing

@Suite struct TaskFileTests {
    private func read(_ text: String, named name: String = "Buy milk.md") throws -> TaskItem {
        let file = try TaskFile(parsing: Array(text.utf8), named: name)
        #expect(file.bytes == Array(text.utf8))
        return file.item
    }

    private func problem(_ bytes: [UInt8]) -> TaskFileProblem? {
        do throws(TaskFileProblem) {
            _ = try TaskFile(parsing: bytes, named: "x.md")
            return nil
        } catch { return error }
    }

    private func problem(_ text: String) -> TaskFileProblem? { problem(Array(text.utf8)) }

    @Test func `an empty file is a task named like the file`() throws {
        #expect(try read("") == TaskItem(title: "Buy milk"))
    }

    @Test func `a file without front matter is all notes`() throws {
        #expect(try read("# Milk\n\n- [ ] oat\n") == TaskItem(title: "Buy milk", notes: "# Milk\n\n- [ ] oat\n"))
    }

    @Test func `every known key is read`() throws {
        let item = try read(
            """
            ---
            priority: high            # high | medium | low
            due: 2026-11-30T17:00+01:00
            tags: [errands, home]
            completed: true
            title: AC/DC tickets
            anything-else: kept
            ---
            Oat milk if they have it.

            """)
        #expect(
            item
                == TaskItem(
                    title: "AC/DC tickets", priority: .high, completed: true,
                    due: Due(parsing: "2026-11-30T17:00+01:00"), tags: ["errands", "home"],
                    notes: "Oat milk if they have it.\n", fields: ["anything-else": .string("kept")]))
    }

    @Test(arguments: ["\u{FEFF}---\r\npriority: low\r\n---\r\none\r\ntwo", "--- \npriority: 'LOW'\n...  \none\ntwo"])
    func `byte-order marks, carriage returns, blanks and dots at the marks do not matter`(text: String) throws {
        let notes = text.utf8.contains(0x0D) ? "one\r\ntwo" : "one\ntwo"
        #expect(try read(text) == TaskItem(title: "Buy milk", priority: .low, notes: notes))
    }

    @Test func `known keys have fixed types regardless of YAML's`() throws {
        #expect(try read("---\ntitle: no\ncompleted: yes\ntags: 2026\n---\n").title == "no")
        #expect(try read("---\ntitle: 0123\n---\n").title == "0123")
        #expect(try read("---\ncompleted: Yes\n---\n").completed)
        #expect(try read("---\ncompleted: 'off'\n---\n") == TaskItem(title: "Buy milk"))
        #expect(try read("---\ntags: [no, 1, 2026-08-22]\n---\n").tags == ["no", "1", "2026-08-22"])
        #expect(try read("---\ntags: one, two words,\n---\n").tags == ["one", "two words"])
        #expect(try read("---\ntags: [a, b, a]\n---\n").tags == ["a", "b"])
    }

    @Test func `a known key without a value is absent`() throws {
        #expect(
            try read("---\ntitle:\npriority: ~\ndue: null\ntags:\ncompleted:\n---\n") == TaskItem(title: "Buy milk"))
    }

    @Test func `a known key with a value that is not understood is a custom field`() throws {
        let item = try read("---\npriority: 9\ndue: soon\ntags: {a: 1}\ncompleted: 2025-12-28\ntitle: [x]\n---\n")
        #expect(item.title == "Buy milk")
        #expect(item.misunderstoodKeys == ["priority", "due", "tags", "completed", "title"])
        #expect(item.fields["priority"] == .integer(9))
        #expect(item.fields["due"] == .string("soon"))
        #expect(item.fields["completed"] == .string("2025-12-28"))
        #expect(item.fields["tags"] == .map(["$yaml": .string("{a: 1}")]))
        #expect(item.fields["title"] == .map(["$yaml": .string("[x]")]))
    }

    @Test func `custom values are typed where Ferry would write the same bytes, else source text`() throws {
        let item = try read(
            """
            ---
            plain: two words
            date: 2026-08-22
            no: no
            number: 45
            octal: 0123
            float: 1.50
            exact: 1.5
            flag: true
            Flag: True
            nothing:
            tilde: ~
            needed: "@dev"
            unneeded: "dev"
            list:
              - "@dev"
              - 1
            tight:
            - a
            flow: [a, b]
            map:
              a: 1
              b:
                - x
            unsorted:
              b: 1
              a: 2 # why
            text: |
              one
                two
            tagged: !x y
            ---
            """)
        func source(_ text: String) -> Value { .map(["$yaml": .string(text)]) }
        #expect(
            item.fields == [
                "plain": .string("two words"), "date": .string("2026-08-22"), "no": .string("no"),
                "number": .integer(45), "octal": source("0123"), "float": source("1.50"), "exact": .double(1.5),
                "flag": .boolean(true), "Flag": source("True"), "nothing": .null, "tilde": source("~"),
                "needed": .string("@dev"), "unneeded": source("\"dev\""),
                "list": .array([.string("@dev"), .integer(1)]), "tight": source("\n- a"), "flow": source("[a, b]"),
                "map": .map(["a": .integer(1), "b": .array([.string("x")])]), "unsorted": source("\n  b: 1\n  a: 2"),
                "text": source("|\n  one\n    two"), "tagged": source("!x y"),
            ])
    }

    @Test(arguments: [
        ("---\ntitle: x\n", TaskFileProblem.Code.unterminatedFrontMatter, 1), ("---", .unterminatedFrontMatter, 1),
        ("---\na: b: c\n---\n", .malformedFrontMatter, 2), ("---\nx: 1\na: 'b\n---\nbody\n", .malformedFrontMatter, 3),
        ("---\na: 1\nb: 2\na: 3\n---\n", .duplicateKey, 4), ("---\n- a\n---\n", .malformedFrontMatter, 2),
        ("---\njust text\n---\n", .malformedFrontMatter, 2), ("---\na: 1\nb: *x\n---\n", .malformedFrontMatter, 3),
        ("---\n\"\": 1\n---\n", .unusableKey, 2), ("---\na: 1\n__x__: 1\n---\n", .unusableKey, 3),
        ("---\n? [a]\n: 1\n---\n", .unusableKey, 2), ("a\nb\u{0}", .notText, 2),
    ])
    func `a file that cannot be read says why and where`(text: String, code: TaskFileProblem.Code, line: Int) {
        let found = problem(text)
        #expect(found?.code == code)
        #expect(found?.line == line)
        #expect(found?.message.isEmpty == false)
    }

    @Test func `bytes that are not UTF-8 are a problem in the notes and in the front matter`() {
        #expect(problem([0xFF, 0xFE, 0x68, 0])?.message.contains("UTF-16") == true)
        let inNotes = problem(Array("one\ntwo\n".utf8) + [0xC3, 0x28])
        #expect(inNotes?.code == .notText)
        #expect(inNotes?.line == 3)
        let inFrontMatter = problem(Array("---\na: b\nc: ".utf8) + [0xFF] + Array("\n---\n".utf8))
        #expect(inFrontMatter?.code == .notText)
        #expect(inFrontMatter?.line == 3)
    }

    /// Each of the keys would be tried alone if the length were not reason enough.
    @Test(.timeLimit(.minutes(1))) func `a task with too many fields for a file is refused at once`() throws {
        var item = TaskItem(title: "Milk")
        item.fields = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("column \($0)", .string("x")) })
        let error = #expect(throws: TaskFileProblem.self) {
            _ = try TaskFile.make(for: item, named: "Milk.md", writesTitle: false)
        }
        #expect(error?.code == .overLimit)
    }

    @Test func `size, nesting and number of values are bounded`() {
        #expect(problem(String(repeating: "x", count: TaskFile.maximumBytes)) == nil)
        #expect(problem(String(repeating: "x", count: TaskFile.maximumBytes + 1))?.code == .tooLarge)
        #expect(problem("---\na: \(String(repeating: "[", count: 500))\n---\n")?.code == .overLimit)
        #expect(problem("---\na: [\(String(repeating: "1,", count: 20_000))]\n---\n")?.code == .overLimit)
        #expect(problem("---\na: \(String(repeating: "x", count: 70_000))\n---\n")?.code == .overLimit)
    }
}
