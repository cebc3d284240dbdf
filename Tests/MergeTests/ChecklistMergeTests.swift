import Merge
import Testing

@Suite("Checklists on two sides")
struct ChecklistMergeTests {
    private func merge(_ base: String, _ mine: String, _ theirs: String) -> TextMerge {
        TextMerge(base: base, mine: mine, theirs: theirs)
    }

    @Test("Ticks of adjacent items are all kept")
    func adjacentTicks() {
        let found = merge(
            "- [ ] a\n- [ ] b\n- [x] c\n", "- [x] a\n- [ ] b\n- [ ] c\n", "- [ ] a\n- [x] b\n- [x] c\n")
        #expect(found.text == "- [x] a\n- [x] b\n- [ ] c\n")
        #expect(!found.hasConflict)
    }

    @Test("Items that both sides append are both kept, whichever side commits first")
    func appendedItems() {
        for end in ["\n", ""] {
            let (base, mine, theirs) = (
                "Shop\n- [ ] a" + end, "Shop\n- [ ] a\n- [ ] milk" + end, "Shop\n- [ ] a\n- [ ] eggs" + end
            )
            let found = merge(base, mine, theirs)
            #expect(found.text == "Shop\n- [ ] a\n- [ ] eggs\n- [ ] milk" + end)
            #expect(!found.hasConflict)
            #expect(merge(base, theirs, mine) == found)
            #expect(merge(base, mine, found.text) == found && merge(base, found.text, theirs) == found)
        }
    }

    @Test("A tick, a removal, and an appended item at one place are no conflict")
    func mixedChanges() {
        let base = "- [ ] a\n- [ ] b\n- [ ] c\n"
        let found = merge(base, "- [x] a\n- [ ] c\n- [ ] d\n", "- [ ] a\n- [ ] b\n- [x] c\n- [ ] e\n")
        #expect(found.text == "- [x] a\n- [x] c\n- [ ] d\n- [ ] e\n")
        #expect(!found.hasConflict)
    }

    @Test("A tick of an item that the other side removed or rewrote is a conflict")
    func tickOfRemovedItem() {
        let base = "- [ ] a\n- [ ] b\n"
        for other in ["- [ ] b\n", "- [ ] a, soon\n- [ ] b\n"] {
            let found = merge(base, other, "- [x] a\n- [ ] b\n")
            #expect(found.hasConflict && found.text == other)
        }
    }

    @Test("One item that both sides rewrote is a conflict that mine wins")
    func rewrittenItem() {
        let found = merge("- [ ] a\n", "- [ ] mine\n", "- [ ] theirs\n")
        #expect(found.hasConflict && found.text == "- [ ] mine\n")
    }

    @Test("Different marks of one item are a conflict that mine wins")
    func differentMarks() {
        let found = merge("* [ ] a\n", "* [x] a\n", "* [-] a\n")
        #expect(found.hasConflict && found.text == "* [x] a\n")
        #expect(!merge("* [ ] a\n", "* [x] a\n", "* [x] a\n").hasConflict)
    }

    @Test("Only items have marks", arguments: ["- [ ]a", "[ ] a", "-[ ] a", "- [] a", "- [xy] a", "1234567890. [ ] a"])
    func otherLines(_ line: String) {
        #expect(ChecklistLine(Array(line.utf8)) == nil)
    }

    @Test(
        "Items of each kind of list have marks",
        arguments: ["- [ ] a", "  * [x] a", "\t+ [X]", "12) [/] a", "1. [-] a"])
    func items(_ line: String) {
        #expect(ChecklistLine(Array(line.utf8)).map { Array(line.utf8)[$0.markOffset] == $0.mark } == true)
    }

    @Test("Random checklists: no tick and no item is lost, in either order")
    func randomLists() {
        var random = SeededGenerator(seed: 41)
        func text(_ items: [(name: String, mark: String)]) -> String {
            items.map { "- [\($0.mark)] \($0.name)\n" }.joined()
        }
        for round in 0..<3000 {
            let base = (0..<Int.random(in: 0...5, using: &random)).map { (name: "i\($0)", mark: " ") }
            var sides = [base, base]
            var (ticked, added) = (Set<String>(), Set<String>())
            for index in sides.indices {
                for place in sides[index].indices where Int.random(in: 0..<3, using: &random) == 0 {
                    sides[index][place].mark = "x"
                    ticked.insert(sides[index][place].name)
                }
                for number in 0..<Int.random(in: 0...2, using: &random) {
                    let place = Int.random(in: 0...sides[index].count, using: &random)
                    sides[index].insert((name: "n\(index)\(number)", mark: " "), at: place)
                    added.insert("n\(index)\(number)")
                }
            }
            let found = merge(text(base), text(sides[0]), text(sides[1]))
            let other = merge(text(base), text(sides[1]), text(sides[0]))
            let lines = found.text.split(separator: "\n")
            #expect(!found.hasConflict && found == other, "round \(round)")
            #expect(lines.count == base.count + added.count, "round \(round)")
            #expect(Set(lines.filter { $0.hasPrefix("- [x]") }.map { String($0.dropFirst(6)) }) == ticked)
            #expect(
                merge(text(base), text(sides[0]), found.text)
                    == TextMerge(base: "", mine: found.text, theirs: found.text))
        }
    }
}
