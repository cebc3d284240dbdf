import Testing

@testable import BucketStore

struct RecentUsesTests {
    @Test func `what was used longest ago gives way, and only as much as is needed`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 4) == [])
        #expect(recent.add("b", 4) == [])
        #expect(recent.add("a", 4) == [])
        #expect(recent.add("c", 4) == ["b"])
        #expect(recent.add("d", 9) == ["a", "c"])
        #expect(recent.add("e", 20) == ["d", "e"])
        #expect(recent.add("f", 10) == [])
    }

    @Test func `one file that is used again and again pushes nothing out`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 5) == [])
        for _ in 0..<10_000 { #expect(recent.add("b", 5) == []) }
        #expect(recent.add("a", 5) == [])
        #expect(recent.add("c", 5) == ["b"])
    }

    @Test func `what is taken out makes room, and gives way no more`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 5) == [])
        #expect(recent.add("b", 5) == [])
        recent.remove("a")
        recent.remove("a")
        #expect(recent.add("c", 5) == [])
        #expect(recent.add("d", 5) == ["b"])
    }

    @Test func `a file has the size of its last use`() {
        var recent = RecentUses(limit: 10)
        #expect(recent.add("a", 9) == [])
        #expect(recent.add("a", 1) == [])
        #expect(recent.add("b", 9) == [])
        #expect(recent.add("c", 1) == ["a"])
    }
}
