import TaskModel
import TaskSync
import Testing

@testable import FerryDaemon

struct TaskReferenceTests {
    private let tasks = [
        sample("Ab3kLmNoPqRsTuVwXyZ0", "Buy oat milk"), sample("Ab9zzzzzzzzzzzzzzzzz", "Call the plumber"),
        sample("milk5678901234567890", "Water the plants"), sample("Zz000000000000000000", "Milk"),
        sample("Yy000000000000000000", "Buy almond milk", done: true), sample("Straße12345678901234", "Über den Fluß"),
    ]

    private func find(_ text: String) -> TaskReference.Finding { TaskReference(text).find(in: tasks) }

    @Test func `a unique prefix of an id is enough`() {
        #expect(find("Ab3") == .task("Ab3kLmNoPqRsTuVwXyZ0"))
        #expect(find("Ab9zzzzzzzzzzzzzzzzz") == .task("Ab9zzzzzzzzzzzzzzzzz"))
    }

    @Test func `a prefix that two ids share lists both`() {
        #expect(find("Ab") == .candidates(["Ab3kLmNoPqRsTuVwXyZ0", "Ab9zzzzzzzzzzzzzzzzz"]))
    }

    @Test func `words of a title are found in any case and order`() {
        #expect(find("PLUMBER call") == .task("Ab9zzzzzzzzzzzzzzzzz"))
        #expect(find("über") == .task("Straße12345678901234"))
    }

    @Test func `the whole title wins over titles and ids that contain it`() {
        #expect(find("milk") == .task("Zz000000000000000000"))
    }

    @Test func `ambiguous words list open tasks first`() {
        #expect(find("buy milk") == .candidates(["Ab3kLmNoPqRsTuVwXyZ0", "Yy000000000000000000"]))
    }

    @Test func `a short word that is also the prefix of an id is ambiguous, a long one is the id`() {
        let tasks = [sample("oats5678901234567890", "Water"), sample("Qq000000000000000000", "Eat oats5678 daily")]
        #expect(TaskReference("oats").find(in: tasks) == .candidates(["Qq000000000000000000", "oats5678901234567890"]))
        #expect(TaskReference("oats56").find(in: tasks) == .task("oats5678901234567890"))
    }

    @Test func `words that match a recurring task and its kept occurrences are the task`() {
        var tasks = [
            sample("Qq000000000000000000", "Water plants 2026-11-28", done: true),
            sample("Rr000000000000000000", "Water plants"),
            sample("Ss000000000000000000", "Water plants 2026-12-01", done: true),
        ]
        #expect(TaskReference("plants").find(in: tasks) == .task("Rr000000000000000000"))
        #expect(TaskReference("plants 2026-12-01").find(in: tasks) == .task("Ss000000000000000000"))
        tasks.append(sample("Tt000000000000000000", "Water plants indoors"))
        #expect(TaskReference("plants").find(in: tasks) != .task("Rr000000000000000000"))
    }

    @Test func `a whole word of a title beats a part of one`() {
        let tasks = [
            sample("Qq000000000000000000", "Plan the party"), sample("Rr000000000000000000", "Planning meeting"),
            sample("Ss000000000000000000", "Explain PLANs"),
        ]
        #expect(TaskReference("plan").find(in: tasks) == .task("Qq000000000000000000"))
        #expect(TaskReference("planning").find(in: tasks) == .task("Rr000000000000000000"))
        #expect(
            TaskReference("lan").find(in: tasks) != .nothing
                && TaskReference("plan part").find(in: tasks) == .task("Qq000000000000000000"))
    }

    @Test func `one letter is not taken for the prefix of an id`() {
        #expect(find("Z") == .nothing)
    }

    @Test(arguments: ["", "   ", "nothing like it", "Ab4"])
    func `a text that matches no task finds nothing`(text: String) {
        #expect(find(text) == .nothing)
    }

    @Test func `paths are accepted below the tasks directory only`() {
        let directories = ["/home/ada/Tasks", "/data/Tasks"]
        #expect(TaskReference("/home/ada/Tasks/Work/A.md").path(in: directories) == "Work/A.md")
        #expect(TaskReference("/data/Tasks/A.md").path(in: directories) == "A.md")
        #expect(TaskReference("./A.md").path(in: directories) == "A.md")
        #expect(TaskReference("/etc/passwd").path(in: directories) == nil)
        #expect(TaskReference("/home/ada/TasksX/A.md").path(in: directories) == nil)
    }
}
