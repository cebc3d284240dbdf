import CivilTime
import Control
import Testing

@testable import FerryCLI

@Suite("Groups of tasks")
struct TaskGroupsTests {
    private let tasks = [
        TaskSummary(id: "1", title: "a", priority: .high, due: "2026-11-27", tags: ["home", "Shop"], list: "Work"),
        TaskSummary(id: "2", title: "b", due: "2026-11-28T17:00+01:00", list: ""),
        TaskSummary(id: "3", title: "c", priority: .low, due: "2026-11-26", tags: ["home"], list: "Home"),
        TaskSummary(id: "4", title: "d", list: "Work"),
    ]

    private func groups(_ key: TaskGroups.Key) throws -> [String] {
        let today = try #require(CalendarDay("2026-11-28"))
        return TaskGroups(tasks, by: key, today: today).groups.map { "\($0.heading): \($0.tasks.map(\.id).joined())" }
    }

    @Test("Tasks are in the group of their list, date, priority, and each tag")
    func keys() throws {
        #expect(try groups(.list) == ["Inbox: 2", "Home: 3", "Work: 14"])
        #expect(try groups(.due) == ["Overdue: 13", "Today: 2", "Without a date: 4"])
        #expect(try groups(.priority) == ["High: 1", "Low: 3", "No priority: 24"])
        #expect(try groups(.tag) == ["+home: 13", "+Shop: 1", "No tags: 24"])
    }

    @Test("Other keys are refused")
    func unknown() { #expect(throws: (any Error).self) { try TaskGroups.key("color") } }
}
