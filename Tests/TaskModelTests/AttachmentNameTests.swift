import DocumentModel
import TaskModel
import Testing

@Suite struct AttachmentNameTests {
    @Test func `an attachment is found by its id, then by its exact name, the oldest first`() {
        func file(_ name: String, _ seconds: Int64?) -> TaskAttachment {
            TaskAttachment(name: name, createdTime: seconds.flatMap { Timestamp(seconds: $0, nanos: 0) })
        }
        let item = TaskItem(
            title: "Trip",
            attachments: [
                "a": file("map.txt", nil), "b": file("map.txt", 20), "c": file("map.txt", 10), "map": file("a", nil),
                "d": file("caf\u{E9}.txt", nil), "e": file("cafe\u{301}.txt", nil), "f": file("cafe\u{301}.txt", nil),
            ])
        #expect(item.attachment(called: "map")?.id == "map")
        #expect(item.attachment(called: "map.txt")?.id == "c")
        #expect(item.attachment(called: "caf\u{E9}.txt")?.id == "d")
        #expect(item.attachment(called: "cafe\u{301}.txt")?.id == "e")
        #expect(item.attachment(called: "none") == nil)
    }

    @Test func `attachments whose names differ in Unicode form only are not equal`() {
        let (composed, decomposed) = (TaskAttachment(name: "caf\u{E9}"), TaskAttachment(name: "cafe\u{301}"))
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }
}
