import HTTPMessages
import JSON
import Synchronization
import Testing

@testable import Control

struct TaskListingTests {
    private let tasks = [
        TaskSummary(id: "a", title: "Milk \"and\" bread\u{7}"), Self.withChecklist,
        TaskSummary(
            id: "b", title: "Türen", isCompleted: true, priority: .high, due: "2026-11-30", tags: ["x", "y"],
            list: "Work", attachmentCount: 2, sync: .conflict, path: "Work/Türen.md"),
        TaskSummary(id: "c", title: "", tags: ["\\"], sync: .pending),
    ]

    private static var withChecklist: TaskSummary {
        var task = TaskSummary(id: "d", title: "Groceries", attachmentCount: 1)
        task.checklist = TaskSummary.Checklist(doneCount: 2, count: 5)
        return task
    }

    private func listing(_ pages: [[TaskSummary]]) -> TaskListing {
        let left = Mutex(pages[...])
        return TaskListing { left.withLock { $0.popFirst() } }
    }

    @Test(arguments: [1, 2, 3])
    func `pages come back as the summaries that they were made of`(size: Int) async throws {
        let pages = stride(from: 0, to: tasks.count, by: size).map { Array(tasks[$0..<min($0 + size, tasks.count)]) }
        #expect(try await listing(pages).summaries() == tasks)
        #expect(try JSON(parsing: try await listing(pages).bytes()).list("tasks") == tasks)
        #expect(try await listing([[], pages[0], []]).summaries() == pages[0])
    }

    @Test func `no tasks are a document, too`() async throws {
        #expect(try await listing([]).bytes() == Array(#"{"schemaVersion":1,"tasks":[]}"#.utf8))
    }

    @Test func `a row is the text of its JSON`() throws {
        for task in tasks {
            var bytes: [UInt8] = []
            task.write(to: &bytes)
            #expect(bytes == task.json.bytes)
        }
    }

    @Test func `a filter comes back from the query that it was made of`() throws {
        var filter = TaskFilter(
            words: ["a"], list: "", tags: ["x"], isCompleted: false, due: "week", today: "2026-11-28")
        filter.texts = ["tiles", "call"]
        filter.priorities = [.high, .none]
        filter.sort = "title"
        let query = filter.query.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        #expect(TaskFilter(query: try #require(HTTPTarget("/tasks?\(query)")).query) == filter)
    }

    @Test func `a list that cannot be read to its end breaks off`() async throws {
        let listing = TaskListing { throw ControlError(.internal, "gone") }
        await #expect(throws: ControlError.self) { try await listing.bytes() }
    }

    @Test(arguments: [
        "", "[", #"{"tasks":{}}"#, #"{"tasks":[{"title":"no id"}]}"#, #"{"tasks":[{"id":"a""#, #"{"tasks":[[[]]]}"#,
        #"{"tasks":[]} more"#, #"{"tasks":[{"id":7}]}"#,
    ])
    func `an invalid listing is an internal error with a remedy`(text: String) async {
        let error = await #expect(throws: ControlError.self) { try await TaskListing(body: .text(text)).summaries() }
        #expect(error?.code == .internal && error?.message.hasPrefix("The daemon's answer cannot be read: ") == true)
        #expect(error?.message.hasSuffix("..") == false && error?.hint?.contains("Restart") == true)
    }

    @Test func `members that a newer daemon adds are passed over`() async throws {
        let text = #"{"new":[{"a":1}],"tasks":[{"id":"a","title":"t","new":{"b":[2]},"sync":"new"}],"last":null}"#
        #expect(
            try await TaskListing(body: .text(text)).summaries() == [TaskSummary(id: "a", title: "t", sync: .unknown)])
    }
}
