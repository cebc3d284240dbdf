import Testing

@testable import TaskModel

@Suite("Checklists")
struct ChecklistTests {
    @Test("Items are counted outside of code blocks, with their marks")
    func items() {
        let list = Checklist(
            "Shop\r\n- [ ] milk\r\n  * [X] eggs  \n```\n- [ ] code\n```\n1. [x] tea\n- [/] half\nlast - [ ] no")
        #expect(list.items.map(\.text) == ["milk", "eggs  ", "tea", "half"])
        #expect(list.items.map(\.isDone) == [false, true, true, false])
        #expect(list.doneCount == 2)
        #expect(Checklist("").items.isEmpty)
    }

    @Test("A mark changes one byte, and every other byte stays")
    func marks() {
        let notes = "a\r\n- [ ] milk\r\n- [X] eggs"
        var list = Checklist(notes)
        let isDone = list.mark([1, 2], isDone: true)
        #expect(isDone && list.notes == "a\r\n- [x] milk\r\n- [X] eggs")
        let isOpen = list.mark([2], isDone: false)
        #expect(isOpen && list.notes == "a\r\n- [x] milk\r\n- [ ] eggs")
        for numbers in [[1, 3], [0], [.min]] {
            let isRefused = !list.mark(numbers, isDone: false)
            #expect(isRefused && list.notes == "a\r\n- [x] milk\r\n- [ ] eggs")
        }
    }

    @Test("A recurring task resets its checklist with the occurrence if it says so")
    func resets() throws {
        let day = try #require(CivilDate("2026-11-28"))
        for (head, notes) in [("checklist: reset\n", "- [ ] a\n- [ ] b\n"), ("", "- [x] a\n- [ ] b\n")] {
            var task = try TaskFile(
                parsing: Array("---\n\(head)recurrence: FREQ=DAILY\ndue: 2026-11-28\n---\n- [x] a\n- [ ] b\n".utf8),
                named: "a.md"
            ).item
            task.settleOccurrence(as: .done, on: day)
            #expect(task.notes == notes)
        }
    }
}
