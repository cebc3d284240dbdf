import JSON
import Testing

@testable import Control

struct TaskListingTests {
    @Test func `rows come back as the summaries that they were made of`() throws {
        let tasks = [
            TaskSummary(id: "a", title: "Milk \"and\" bread"),
            TaskSummary(
                id: "b", title: "Türen", isCompleted: true, priority: .high, due: "2026-11-30", tags: ["x", "y"],
                list: "Work", attachmentCount: 2, sync: .conflict, path: "Work/Türen.md"),
        ]
        #expect(try TaskListing(rows: tasks.map(\.row)).summaries() == tasks)
        #expect(try TaskListing(rows: []).summaries().isEmpty)
        #expect(try JSON(parsing: TaskListing(rows: tasks.map(\.row)).bytes).list("tasks") == tasks)
    }

    @Test(arguments: [
        "", "[", #"{"tasks":{}}"#, #"{"tasks":[{"title":"no id"}]}"#, #"{"tasks":[{"id":"a""#, #"{"tasks":[[[]]]}"#,
        #"{"tasks":[]} more"#, #"{"tasks":[{"id":7}]}"#,
    ])
    func `what is no listing is the daemon's fault, and there is a remedy`(text: String) {
        let error = #expect(throws: ControlError.self) { try TaskListing(bytes: Array(text.utf8)).summaries() }
        #expect(error?.code == .internal && error?.message.hasPrefix("The daemon's answer cannot be read: ") == true)
        #expect(error?.message.hasSuffix("..") == false && error?.hint?.contains("Restart") == true)
    }

    @Test func `members that a newer daemon adds are passed over`() throws {
        let text = #"{"new":[{"a":1}],"tasks":[{"id":"a","title":"t","new":{"b":[2]},"sync":"new"}],"last":null}"#
        #expect(
            try TaskListing(bytes: Array(text.utf8)).summaries() == [TaskSummary(id: "a", title: "t", sync: .unknown)])
    }
}
