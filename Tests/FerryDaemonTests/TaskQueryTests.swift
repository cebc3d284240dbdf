import CivilTime
import Control
import SystemIO
import TaskModel
import TaskSync
import Testing

@testable import FerryDaemon

struct TaskQueryTests {
    private let lists: [ListID: String] = ["w": "Work", "h": "Home"]
    private let tasks = [
        sample("a", "Ship 1.0", priority: .high, due: "2026-11-20", list: "w"),
        sample("b", "Write notes", due: "2026-11-21T09:00", tags: ["Errands"], list: "w"),
        sample("c", "Paint wall", priority: .low, due: "2026-11-27", list: "h"),
        sample("d", "Read", due: "2026-11-28", tags: ["errands", "home"]), sample("e", "Sleep", done: true),
        sample("f", "Dream", list: "gone"),
    ]

    private func ids(_ filter: TaskFilter) throws -> [TaskID] {
        let query = try TaskQuery(filter, listNames: lists)
        return tasks.filter(query.matches).map(\.id)
    }

    @Test func `words are searched in titles, tags and lists, ignoring case`() throws {
        #expect(try ids(TaskFilter(words: ["WORK"])) == ["a", "b"])
        #expect(try ids(TaskFilter(words: ["errand", "read"])) == ["d"])
    }

    @Test func `a list matches its name in any case, and an unknown one is an error`() throws {
        #expect(try ids(TaskFilter(list: "home")) == ["c"])
        #expect(throws: ControlError.self) { try ids(TaskFilter(list: "nowhere")) }
    }

    @Test func `the default list has the tasks without a known list`() throws {
        #expect(try ids(TaskFilter(list: "")) == ["d", "e", "f"])
        #expect(try ids(TaskFilter(list: "inbox")) == ["d", "e", "f"])
    }

    @Test func `all tags must match, in any case`() throws {
        #expect(try ids(TaskFilter(tags: ["errands"])) == ["b", "d"])
        #expect(try ids(TaskFilter(tags: ["errands", "HOME"])) == ["d"])
    }

    @Test(arguments: [
        ("today", ["a", "b"]), ("overdue", ["a"]), ("week", ["a", "b", "c"]), ("none", ["e", "f"]),
        ("2026-11-28", ["d"]),
    ])
    func `due words refer to the day of the caller`(word: String, expected: [TaskID]) throws {
        #expect(try ids(TaskFilter(due: word, today: "2026-11-21")) == expected)
    }

    @Test func `all up to a date`() throws {
        let through = try ids(TaskFilter(due: "through:2026-11-27", today: "2026-11-21"))
        #expect(try through == ids(TaskFilter(due: "week", today: "2026-11-21")))
    }

    @Test func `a due time of a task with a zone is that on the clocks here`() throws {
        var task = sample("a", "x", due: "2026-11-21T09:00")
        #expect(task.localDue == nil && task.dueDay?.description == "2026-11-21")
        func expected(_ instant: Int64) throws -> String {
            let local = try #require(LocalTime(seconds: instant))
            return "\(local.day)T\(local.hour.twoDigits):\(local.minute.twoDigits)"
        }
        // 14 hours east of UTC, and 12 hours west.
        task.zone = "Pacific/Kiritimati"
        let east = task
        #expect(try task.localDue == expected(1_795_201_200))
        task.zone = "Etc/GMT+12"
        #expect(try task.localDue == expected(1_795_294_800))
        let days = [east, task].compactMap(\.dueDay?.daysSinceEpoch)
        #expect(days.count == 2 && days[0] < days[1])
        #expect(TaskOrder(east) < TaskOrder(task))
        task.zone = "No/Such"
        #expect(task.localDue == nil)
    }

    @Test func `a due word that means nothing is an error`() {
        #expect(throws: ControlError.self) { try ids(TaskFilter(due: "soonish", today: "2026-11-21")) }
    }

    @Test func `completed tasks are filtered`() throws {
        #expect(try ids(TaskFilter(isCompleted: true)) == ["e"])
        #expect(try ids(TaskFilter(isCompleted: false)).contains("e") == false)
    }

    @Test func `tasks sort by due day, priority and title, and completed ones come last`() {
        let tasks = [
            sample("1", "b"), sample("2", "A"), sample("3", "z", priority: .low), sample("4", "y", priority: .high),
            sample("5", "x", due: "2026-12-01"), sample("6", "w", priority: .low, due: "2026-11-30T08:00"),
            sample("7", "v", priority: .high, due: "2026-11-30"), sample("8", "a", done: true, due: "2020-01-01"),
        ]
        for tasks in [tasks, tasks.reversed()] {
            let sorted = TaskOrder.sorted(tasks.map(TaskCatalog.Box.init))
            #expect(sorted.map(\.entry.id) == ["7", "6", "5", "4", "3", "2", "1", "8"])
        }
    }

    @Test(arguments: [
        ("milk", "Buy MILK", true), ("über", "ÜBER den Fluß", true), ("straße", "Straße", true), ("", "x", true),
        ("milky", "milk", false), ("k", "", false), ("İ", "istanbul", false),
    ])
    func `a word is found in any case and in any script`(word: String, text: String, isThere: Bool) {
        #expect(SearchWord(word).isIn(text) == isThere)
    }
}
