import Testing

@testable import TaskSync

@Suite struct NameBookTests {
    @Test func `names that differ in Unicode form only are two, also one after the other`() {
        var book = NameBook { title, number in number == 1 ? title : "\(title) (\(number))" }
        let forms = ["Caf\u{e9}", "Cafe\u{301}"]
        _ = book.set("a", .init(place: "", title: forms[0], time: nil))
        _ = book.set("b", .init(place: "", title: forms[1], time: nil))
        #expect(["a", "b"].map { book.number(of: $0) } == [1, 1])
        #expect(book.set("b", .init(place: "", title: forms[0], time: nil)) == ["a"])
        #expect(["a", "b"].map { book.number(of: $0) } == [1, 2])
        #expect(book.set("b", .init(place: "", title: forms[1], time: nil)) == ["a"])
        #expect(["a", "b"].map { book.number(of: $0) } == [1, 1])
        #expect(forms.map { book.owner(of: $0) } == ["a", "b"])
    }
}
