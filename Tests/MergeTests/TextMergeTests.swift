import Merge
import Testing

@Suite struct TextMergeTests {
    private func merge(_ base: String, _ mine: String, _ theirs: String) -> TextMerge {
        TextMerge(base: base, mine: mine, theirs: theirs)
    }

    @Test func `changes of different lines are both made`() {
        let found = merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\nf\n")
        #expect(found.text == "A\nb\nc\nd\nE\nf\n")
        #expect(!found.hasConflict)
    }

    @Test func `mine wins where both changed the same lines`() {
        let found = merge("a\nb\nc\nd\n", "a\nmine\nc\nd\n", "a\ntheirs\nc\nD\n")
        #expect(found.text == "a\nmine\nc\nD\n")
        #expect(found.hasConflict)
    }

    @Test func `touching changes are a conflict, as git has it`() {
        #expect(merge("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n").hasConflict)
        #expect(!merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n").hasConflict)
    }

    @Test func `a change that both made is made once`() {
        let found = merge("a\nb\n", "a\nx\nb\n", "a\nx\nb\n")
        #expect(found == merge("a\nb\n", "a\nb\n", "a\nx\nb\n"))
        let more = merge("a\nb\nc\nd\n", "a\nx\nc\nd\nm\n", "t\na\nx\nc\nd\n")
        #expect(more.text == "t\na\nx\nc\nd\nm\n" || more.hasConflict)
    }

    @Test func `of repeated lines the one beside another change is taken for the changed one`() {
        let found = merge("a\nb\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nb\nt\nc\n")
        #expect(found.text == "a\nx\nb\nt\nc\n")
        #expect(!found.hasConflict)
    }

    @Test func `both adding to an empty text is a conflict that mine wins`() {
        let found = merge("", "mine\n", "theirs\n")
        #expect(found.text == "mine\n")
        #expect(found.hasConflict)
    }

    @Test func `a missing last line feed is part of the last line`() {
        #expect(merge("a\nb\nc", "x\na\nb\nc", "a\nb\nc\n").text == "x\na\nb\nc\n")
        #expect(merge("a\n\nb", "a\n\nb\nc", "x\na\n\nb").text == "x\na\n\nb\nc")
    }

    @Test func `an edit with line feeds in a text with CRLF keeps the endings of unchanged lines`() {
        let base = "a\r\nb\r\nc\r\nd\r\n"
        // One side saved one line with a line feed, the other one kept CRLF.
        #expect(merge(base, "A\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\nD\r\n").text == "A\nb\r\nc\r\nD\r\n")
        // One side converted the whole text and changed a line. This is no conflict, and the line
        // of the other side is converted too.
        for (mine, theirs) in [("A\nb\nc\nd\n", "a\r\nb\r\nc\r\nD\r\n"), ("a\r\nb\r\nc\r\nD\r\n", "A\nb\nc\nd\n")] {
            let found = merge(base, mine, theirs)
            #expect(found.text == "A\nb\nc\nD\n" && !found.hasConflict)
        }
        // Only one line ending was changed.
        #expect(merge(base, "a\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\nD\r\n").text == "a\nb\r\nc\r\nD\r\n")
    }

    @Test func `lines that end with lone carriage returns are lines`() {
        let found = merge("a\rb\rc\rd", "A\rb\rc\rd", "a\rb\rc\rD\re")
        #expect(found.text == "A\rb\rc\rD\re" && !found.hasConflict)
        #expect(merge("a\r\n\r\nb", "a\r\n\r\nb\r\nc", "x\r\na\r\n\r\nb").text == "x\r\na\r\n\r\nb\r\nc")
    }

    @Test func `Unicode forms of one line are two lines`() {
        let found = merge("e\u{301}\nx\ny\n", "é\nx\ny\n", "e\u{301}\nx\nz\n")
        #expect(Array(found.text.utf8) == Array("é\nx\nz\n".utf8))
    }

    @Test func `large texts that share little are merged within bounds`() {
        var random = SeededGenerator(seed: 7)
        func text(_ count: Int) -> String {
            (0..<count).map { _ in "\(Int.random(in: 0..<3, using: &random))\n" }.joined()
        }
        let (base, mine, theirs) = (text(4000), text(4000), text(4000))
        let elapsed = ContinuousClock().measure { #expect(merge(base, mine, theirs).hasConflict) }
        #expect(elapsed < .seconds(30))
        let many = String(repeating: "x\n", count: 200_001)
        #expect(merge(many, many + "m\n", "t\n" + many).hasConflict)
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `the laws of a text merge hold`(seed: UInt64) {
        var texts = GeneratedTexts(seed: seed)
        for _ in 0..<150 {
            let (base, mine, theirs) = texts.triple()
            let found = merge(base, mine, theirs)
            let story = "seed \(seed): \(base.debugDescription) \(mine.debugDescription) \(theirs.debugDescription)"
            #expect(merge(base, mine, base) == merge(mine, mine, mine), "\(story)")
            #expect(merge(base, base, theirs).text == theirs, "\(story)")
            #expect(merge(base, mine, mine).text == mine, "\(story)")
            let other = merge(base, theirs, mine)
            #expect(other.hasConflict == found.hasConflict, "\(story)")
            if !found.hasConflict { #expect(other.text == found.text, "\(story)") }
            // The lines added in `mine` are in the result. Those added in `theirs` are too, or all
            // of `theirs` is displaced.
            #expect(lacks(found.text, additions(base, mine)).isEmpty, "\(story)")
            if !found.hasConflict { #expect(lacks(found.text, additions(base, theirs)).isEmpty, "\(story)") }
        }
    }

    private func additions(_ base: String, _ side: String) -> Set<Substring> {
        Set(side.split(separator: "\n")).subtracting(base.split(separator: "\n"))
    }

    private func lacks(_ text: String, _ lines: Set<Substring>) -> Set<Substring> {
        lines.subtracting(text.split(separator: "\n"))
    }
}
