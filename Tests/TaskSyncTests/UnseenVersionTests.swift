import DocumentModel
import Merge
import TaskModel
import Testing

@testable import TaskSync

/// What the first save of a file puts away of the version that had come to it a moment before.
@Suite struct UnseenVersionTests {
    private func displaced(_ before: TaskItem?, _ came: TaskItem, _ saved: TaskItem) -> [String: Value?] {
        let values = UnseenVersion.displaced(before: before, came: came, saved: saved)
        return Dictionary(uniqueKeysWithValues: values.map { ($0.field.description, $0.value) })
    }

    @Test func `a buffer from before the version puts away all that came`() {
        let before = TaskItem(title: "Day", notes: "- [ ] one\n")
        let came = TaskItem(title: "Day", priority: .high, tags: ["bank"], notes: "- [ ] one\ncall the bank\n")
        let saved = TaskItem(title: "Day", notes: "- [ ] one\nevening\n")
        #expect(
            displaced(before, came, saved) == [
                "notes": .string("- [ ] one\ncall the bank\n"), "priority": .integer(0),
                "tags": .array([.string("bank")]),
            ])
    }

    @Test func `an edit of what came is an edit`() {
        let before = TaskItem(title: "Day", notes: "one\n")
        let came = TaskItem(title: "Day", priority: .high, notes: "one\ntwo\nthree\n")
        #expect(displaced(before, came, TaskItem(title: "Day", priority: .low, notes: "one\ntwo\n")).isEmpty)
        #expect(displaced(before, came, came).isEmpty)
        #expect(displaced(before, before, TaskItem(title: "Day", notes: "")).isEmpty)
    }

    @Test func `a line that is back after it was replaced elsewhere tells of a buffer, too`() {
        let before = TaskItem(title: "Day", notes: "- [ ] one\n")
        let came = TaskItem(title: "Day", notes: "- [x] one\nshared\ncall the bank\n")
        let saved = TaskItem(title: "Day", notes: "- [ ] one\nshared\n")
        #expect(displaced(before, came, saved).keys.sorted() == ["notes"])
    }

    @Test func `a save over a file that has another task's old name keeps whatever it lacks`() {
        let came = TaskItem(title: "Day", notes: "# Today\ncall the bank\n")
        #expect(displaced(nil, came, TaskItem(title: "Day", notes: "# Today\nevening\n")).keys.sorted() == ["notes"])
        #expect(displaced(nil, came, TaskItem(title: "Day", notes: "# Today\ncall the bank\nmore\n")).isEmpty)
    }
}
