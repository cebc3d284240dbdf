import DocumentModel
import TaskModel
import Testing

@testable import FerryDaemon

@Suite struct HistoryWordsTests {
    private let words = FieldWords(
        listNames: ["l1": "Work"], attachments: ["a1": TaskAttachment(name: "a.pdf")])

    private func path(_ keys: String...) throws -> FieldPath { try FieldPath(keys) }

    @Test func `values are formatted as users write them`() throws {
        #expect(words.text(.integer(0), of: try path("priority")) == "high")
        #expect(words.text(.integer(2), of: try path("priority")) == "low")
        #expect(words.text(nil, of: try path("priority")) == "none")
        #expect(words.text(.boolean(true), of: try path("completed")) == "done")
        #expect(words.text(nil, of: try path("completed")) == "open")
        #expect(words.text(.string("l1"), of: try path("listId")) == "Work")
        #expect(words.text(nil, of: try path("listId")) == "Inbox")
        #expect(words.text(.array([.string("a"), .string("b")]), of: try path("tags")) == "a, b")
        #expect(words.text(nil, of: try path("tags")) == "none")
        #expect(words.text(nil, of: try path("notes")) == "none")
        #expect(
            words.text(.timestamp(Timestamp(microseconds: 1_764_547_200_000_000)), of: try path("due")) == "2025-12-01")
        #expect(words.text(.timestamp(Timestamp(microseconds: 0)), of: try path("deletedTime")) == "deleted")
        #expect(words.text(.map(["$yaml": .string("[x,  y]")]), of: try path("fields", "effort")) == "[x,  y]")
    }

    @Test func `fields are called as in a file`() throws {
        #expect(words.label(try path("listId")) == "list")
        #expect(words.label(try path("fields", "effort")) == "effort")
        #expect(words.label(try path("attachments", "a1")) == "attachment a.pdf")
        #expect(words.label(try path("attachments", "gone4567x")) == "attachment gone4567")
        #expect(words.label(nil) == "task")
    }

    @Test func `a device has its name, or at least its id`() {
        let names = DeviceNames(
            [.init(id: ReplicaID("r1"), name: "desk", version: nil, lastSeen: nil)], own: ReplicaID("r2"))
        #expect(names.name(ReplicaID("r1")) == "desk" && names.name(ReplicaID("r2")) == "this machine")
        #expect(names.name(ReplicaID("r345678901")) == "device r3456789" && names.name(nil) == "another program")
    }
}
