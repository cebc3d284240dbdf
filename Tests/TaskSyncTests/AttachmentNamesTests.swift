import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// What the files of attachments of one name are called.
@Suite struct AttachmentNamesTests {
    @Test func `of one name the lowest id has it, the others numbers that no other has`() {
        let numbers = AttachmentNames.numbers(of: ["c": "a.txt", "a": "a.txt", "b": "a.txt", "d": "a (2).txt"])
        #expect(numbers == ["a": 1, "b": 3, "c": 4, "d": 1])
        #expect(AttachmentNames.numbers(of: ["a": "caf\u{E9}", "b": "cafe\u{301}"]) == ["a": 1, "b": 1])
        #expect(AttachmentNames.numbers(of: ["a": "x/y", "b": "x/y"]) == ["a": 1, "b": 2])
    }

    @Test func `a file that has come later gets a name of its own in the document`() {
        #expect(AttachmentNames.free("a.txt", beside: []) == "a.txt")
        #expect(AttachmentNames.free("a.txt", beside: [.init("a.txt"), .init("a (2).txt")]) == "a (3).txt")
    }

    @Test func `commands find each by the name that all machines give it`() {
        var item = TaskItem(title: "Trip")
        item.attachments = ["b": TaskAttachment(name: "a.txt", size: 2), "a": TaskAttachment(name: "a.txt", size: 1)]
        #expect(item.attachmentNames == ["a": "a.txt", "b": "a (2).txt"])
        #expect(item.attachment(meantBy: "a.txt")?.id == "a" && item.attachment(meantBy: "a (2).txt")?.id == "b")
        #expect(item.attachment(meantBy: "b")?.id == "b" && item.attachment(meantBy: "none") == nil)
    }
}
