import DocumentModel
import TaskModel
import Testing

@testable import TaskSync

@Suite struct NameBookTests {
    @Test func `names that differ in Unicode form only are two, also one after the other`() {
        var book = NameAllocator<TaskID> { title, number in number == 1 ? title : "\(title) (\(number))" }
        let forms = ["Caf\u{e9}", "Cafe\u{301}"]
        _ = book.set("a", .init(place: nil, title: forms[0], time: nil))
        _ = book.set("b", .init(place: nil, title: forms[1], time: nil))
        #expect(["a", "b"].map { book.number(of: $0) } == [1, 1])
        #expect(book.set("b", .init(place: nil, title: forms[0], time: nil)) == ["a"])
        #expect(["a", "b"].map { book.number(of: $0) } == [1, 2])
        #expect(book.set("b", .init(place: nil, title: forms[1], time: nil)) == ["a"])
        #expect(["a", "b"].map { book.number(of: $0) } == [1, 1])
        #expect(forms.map { book.owner(of: $0) } == ["a", "b"])
    }

    @Test func `a title that is the name comes before one that has to be mapped to it, whenever it came`() {
        var book = NameAllocator<TaskID> { title, number in
            let name = title.replacing("/", with: "-")
            return number == 1 ? name : "\(name) (\(number))"
        }
        let times = (1...2).map { Timestamp(seconds: $0, nanos: 0) }
        _ = book.set("mapped", .init(place: nil, title: "a/b", time: times[0], isExact: false))
        #expect(book.number(of: "mapped") == 1)
        #expect(book.set("plain", .init(place: nil, title: "a-b", time: times[1])) == ["mapped"])
        #expect(["plain", "mapped"].map { book.number(of: $0) } == [1, 2])
        #expect(book.owner(of: "a-b") == "plain")
    }
}
